// Opens reports in a headless Chromium from disk, and uses them as a reader would: by mouse, by
// keyboard, in light and dark. `run.sh` makes the reports and calls this with their directory.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser, findChromium } from './chromium.mjs';

const directory = process.argv[2];
const browser = new Browser(findChromium());
const file = (name) => pathToFileURL(join(directory, name)).href;

/** The view as the page tells it: from, to, in ns. */
const view = (page) => page.value(
  '(({ from, to }) => [Number(from), Number(to)])(document.getElementById("view").dataset)');

/** Where an element is in the window, after it was scrolled there. */
const box = async (page, selector) => {
  const of = JSON.stringify(selector);
  await page.value(`document.querySelector(${of}).scrollIntoView({ block: 'center' })`);
  await page.settle();
  return page.value(`(({ x, y, width, height }) => ({ x, y, width, height }))(
    document.querySelector(${of}).getBoundingClientRect())`);
};

/** How many different colours a canvas has: an empty one has one. */
const colours = (page, selector) => page.value(`(() => {
  const canvas = document.querySelector(${JSON.stringify(selector)});
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
})()`);

/** The text of an element, and how many elements there are. */
const text = (page, selector) => page.value(
  `document.querySelector(${JSON.stringify(selector)}).textContent`);
const count = (page, selector) => page.value(
  `document.querySelectorAll(${JSON.stringify(selector)}).length`);

const span = ([from, to]) => to - from;

const tests = {
  async 'loads from disk, without a complaint and without a request'(page) {
    await page.open(file('desktop.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.equal(await page.value('Lab.runs.length'), 3);
    assert.ok(await page.value('Number(document.body.dataset.painted)') < 20000);
  },

  async 'the comparison has a row a metric, its best marked, definitions at hand'(page) {
    assert.ok(await page.value('document.querySelectorAll("#comparison tbody tr").length') >= 10);
    assert.equal(await page.value('document.querySelectorAll("#comparison thead th").length'), 4);
    assert.ok(await page.value('document.querySelectorAll("#comparison td.best").length') > 0);
    const { x, y } = await box(page, '#comparison .term');
    await page.mouse('mouseMoved', x + 4, y + 4);
    assert.equal(await page.value('document.getElementById("tip").hidden'), false);
    assert.ok((await page.value('document.getElementById("tip").textContent')).length > 20);
    await page.mouse('mouseMoved', 2, 2);
    assert.equal(await page.value('document.getElementById("tip").hidden'), true);
  },

  async 'the timeline has a lane a CPU of each scheduler, and something in them'(page) {
    assert.equal(await page.value('Lab.timeline.lanes.length'), 3 * 2);
    assert.ok(await colours(page, '#timeline-canvas') > 8);
    assert.ok(await colours(page, '.overview') > 2);
    assert.deepEqual(await view(page), [0, 10e9]);
  },

  async 'every moment of every CPU is in the page'(page) {
    const whole = await page.value(`Lab.runs.every((run) => {
      let sum = 0;
      for (let turn = 0; turn < run.turns; turn += 1) sum += run.end[turn] - run.start[turn];
      return sum === run.buckets.of_tasks.reduce((a, b) => a + b, 0);
    })`);
    assert.ok(whole);
  },

  async 'the wheel zooms where the pointer is, down to a microsecond, and back'(page) {
    const { x, y, width } = await box(page, '#timeline-canvas');
    const at = [x + 96 + (width - 96) / 2, y + 70];
    await page.mouse('mouseWheel', ...at, { deltaX: 0, deltaY: -300 });
    const near = await view(page);
    assert.ok(span(near) < 6e9 && span(near) > 1e9, String(near));
    assert.ok(Math.abs((near[0] + near[1]) / 2 - 5e9) < 5e7, 'the middle stays');
    for (let turn = 0; turn < 60; turn += 1) {
      await page.send('Input.dispatchMouseEvent',
        { type: 'mouseWheel', x: at[0], y: at[1], deltaX: 0, deltaY: -300 });
    }
    await page.settle();
    assert.ok(span(await view(page)) <= 1000, String(await view(page)));
    assert.ok(await colours(page, '#timeline-canvas') > 2);
    await page.value('Lab.timeline.setView(0, 10e9)');
  },

  async 'dragging pans'(page) {
    await page.value('Lab.timeline.setView(2e9, 3e9)');
    const { x, y } = await box(page, '#timeline-canvas');
    await page.mouse('mousePressed', x + 500, y + 60, { button: 'left', clickCount: 1 });
    await page.mouse('mouseMoved', x + 400, y + 60, { button: 'left', buttons: 1 });
    await page.mouse('mouseReleased', x + 400, y + 60, { button: 'left' });
    const [from, to] = await view(page);
    assert.ok(from > 2.05e9 && from < 2.2e9, String(from));
    assert.ok(Math.abs(to - from - 1e9) < 2);
  },

  async 'hovering tells what a turn is, why it came, why it went'(page) {
    await page.value('Lab.timeline.setView(2e9, 2.03e9)');
    const { x, y, width } = await box(page, '#timeline-canvas');
    const lane = await page.value('Lab.timeline.top(Lab.timeline.lanes[0]) + 10');
    await page.mouse('mouseMoved', x + 96 + (width - 96) / 2, y + lane);
    const tip = await page.value('document.getElementById("tip").innerText');
    const name = await page.value(`(() => {
      const { run } = Lab.timeline.lanes[0];
      return run.tasks[run.task[Lab.timeline.lanes[0].at(2.015e9)]].name;
    })()`);
    for (const word of [name, 'CPU 0', 'before', 'why in', 'why out']) {
      assert.ok(tip.includes(word), `${word}: ${tip}`);
    }
    await page.mouse('mouseMoved', 2, 2);
  },

  async 'the keyboard alone is enough'(page) {
    await page.value('Lab.timeline.setView(0, 10e9); document.querySelector(".skip").focus()');
    let reached = false;
    for (let turn = 0; turn < 80 && !reached; turn += 1) {
      await page.key('Tab');
      reached = await page.value('document.activeElement.id === "timeline-keys"');
    }
    assert.ok(reached, 'the timeline is in the order of the Tab key');
    await page.key('+');
    assert.ok(Math.abs(span(await view(page)) - 5e9) < 10);
    await page.key('ArrowRight');
    assert.ok((await view(page))[0] > 2.6e9);
    await page.key('Home');
    assert.equal((await view(page))[0], 0);
    await page.key('End');
    assert.equal((await view(page))[1], 10e9);
    await page.key('0');
    assert.deepEqual(await view(page), [0, 10e9]);
    await page.key('n');
    const first = await text(page, '.focus');
    await page.key('n');
    const second = await text(page, '.focus');
    assert.ok(first.includes('when') && second.includes('when') && first !== second);
    assert.ok(await page.value('document.querySelector("[aria-live]:not(.found)") !== null'));
    await page.key('ArrowDown');
    assert.equal(await page.value('Lab.timeline.lane'), 1);
    await page.key('Enter');
    assert.ok(span(await view(page)) < 1e9);
    await page.key('Escape');
    await page.key('t');
    assert.equal(await page.value('Lab.timeline.rows'), 'tasks');
    assert.equal(await page.value('Lab.timeline.lanes.length'), 3 * 8);
    assert.ok(await colours(page, '#timeline-canvas') > 8);
    await page.key('t');
  },

  async 'a search finds a task, and Enter its next turn'(page) {
    await page.value('Lab.timeline.setView(0, 10e9)');
    await page.value('Lab.timeline.search.focus()');
    await page.send('Input.insertText', { text: 'audio' });
    await page.settle();
    assert.equal(await page.value('document.querySelector(".found").textContent'), '1 task');
    await page.key('Enter');
    assert.ok((await text(page, '.focus')).includes('audio-0'));
    await page.value('Lab.timeline.search.value = ""; Lab.timeline.setFind("")');
  },

  async 'every colouring draws, and schedulers can be left out'(page) {
    for (const way of ['task', 'group', 'end', 'wait', 'program']) {
      await page.value(`Lab.timeline.setColoring('${way}')`);
      await page.settle();
      assert.ok(await colours(page, '#timeline-canvas') > 2, way);
    }
    await page.value('document.querySelectorAll(".runs input")[1].click()');
    assert.equal(await page.value('Lab.timeline.lanes.length'), 2 * 2);
    await page.value('document.querySelectorAll(".runs input")[1].click()');
  },

  async 'a link leads to the place'(page) {
    await page.value('Lab.timeline.setView(4e9, 4.5e9); Lab.timeline.setRows("tasks")');
    await page.until('location.hash.includes("rows=tasks")');
    const hash = await page.value('location.hash');
    assert.ok(hash.includes('t=4000000000-4500000000'), hash);
    await page.send('Page.navigate', { url: 'about:blank' });
    await page.open(`${file('desktop.html')}${hash}`);
    assert.deepEqual(await view(page), [4e9, 4.5e9]);
    assert.equal(await page.value('Lab.timeline.rows'), 'tasks');
    await page.value('Lab.timeline.setRows("cpus"); Lab.timeline.setView(0, 10e9)');
  },

  async 'charts are drawn, labelled, and lead to the timeline'(page) {
    const charts = await page.value('document.querySelectorAll("figure .uplot").length');
    assert.equal(charts, 3 + 3 + 6);
    assert.equal(await count(page, '.chart[role=img][aria-label]'), charts);
    assert.equal(await count(page, 'figure details table'), charts);
    assert.ok(await colours(page, '#shares figure canvas') > 4);
    assert.ok(await colours(page, '#latency figure canvas') > 4);
    const { x, y, width } = await box(page, '#shares .u-over');
    await page.mouse('mousePressed', x + width * 0.25, y + 40, { button: 'left', clickCount: 1 });
    await page.mouse('mouseMoved', x + width * 0.4, y + 50, { button: 'left', buttons: 1 });
    await page.mouse('mouseMoved', x + width * 0.5, y + 60, { button: 'left', buttons: 1 });
    await page.mouse('mouseReleased', x + width * 0.5, y + 60, { button: 'left' });
    const [from, to] = await view(page);
    assert.ok(from > 2e9 && from < 3e9 && to > 4.5e9 && to < 5.5e9, `${from} ${to}`);
  },

  async 'the longest wait is in the table, and its button leads there'(page) {
    const most = await page.value(`Math.max(...Lab.runs.flatMap((run) => (
      run.recorded.waits.map(({ from, to }) => to - from))))`);
    const first = await text(page, '#waits tbody button');
    assert.equal(first, await page.value(`Lab.duration(${most})`));
    await page.value('document.querySelector("#waits tbody button").click()');
    assert.ok(Math.abs(span(await view(page)) - 1.5 * most) < 1e3);
  },

  async 'light and dark differ, and follow the system until somebody chooses'(page) {
    const back = () => page.value('getComputedStyle(document.body).backgroundColor');
    const dark = { features: [{ name: 'prefers-color-scheme', value: 'dark' }] };
    const light = await back();
    await page.send('Emulation.setEmulatedMedia', dark);
    await page.settle();
    const other = await back();
    assert.notEqual(light, other);
    await page.value('document.getElementById("theme").click()');
    assert.equal(await back(), light);
    await page.send('Emulation.setEmulatedMedia', { features: [] });
  },

  async 'it fits a telephone, and prints'(page) {
    await page.send('Emulation.setDeviceMetricsOverride',
      { width: 390, height: 800, deviceScaleFactor: 2, mobile: true });
    await page.settle();
    assert.ok(await page.value('document.documentElement.scrollWidth') <= 392);
    await page.send('Emulation.setDeviceMetricsOverride',
      { width: 1300, height: 900, deviceScaleFactor: 1, mobile: false });
    const { data } = await page.send('Page.printToPDF', {});
    assert.ok(data.length > 50000);
  },

  async 'more turns than a page holds are put together, which is said, and sums stay'(page) {
    await page.open(file('many.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.ok((await text(page, '.thinned')).includes('more slices than a page holds'));
    assert.ok(await page.value('Lab.runs.reduce((sum, run) => sum + run.turns, 0)') <= 1e6);
    assert.ok(await page.value(`Lab.runs.every((run) => {
      let busy = 0;
      let count = run.turns;
      for (let turn = 0; turn < run.turns; turn += 1) {
        busy += run.end[turn] - run.start[turn] - run.idle[turn];
        count += run.several[turn];
      }
      return count === run.recorded.turns
        && busy === run.buckets.of_tasks.reduce((a, b) => a + b, 0);
    })`));
    // The row of a task shows what the task had, to half a cell.
    await page.value('Lab.timeline.setRows("tasks")');
    await page.settle();
    assert.ok(await page.value(`Lab.timeline.lanes.every((lane) => {
      const { run } = lane;
      const tally = lane.columns(0, run.duration, 400, Lab.timeline.kinds.get(run.number),
        Lab.timeline.classes, 0, false, 0);
      const drawn = tally.busy.reduce((a, b) => a + b, 0);
      const { buckets } = run.recorded;
      const had = run.buckets.of_tasks.slice(lane.id * buckets, (lane.id + 1) * buckets);
      const sum = had.reduce((a, b) => a + b, 0);
      return Math.abs(drawn - sum) < 0.02 * run.duration;
    })`));
    assert.ok(await colours(page, '#timeline-canvas') > 4);
    const { x, y } = await box(page, '#timeline-canvas');
    for (let turn = 0; turn < 40; turn += 1) {
      await page.send('Input.dispatchMouseEvent',
        { type: 'mouseWheel', x: x + 500, y: y + 60, deltaX: 0, deltaY: turn < 30 ? -300 : 300 });
    }
    await page.settle();
  },

  async 'hostile names are text'(page) {
    await page.open(file('hostile.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.equal(await page.value('window.owned === undefined'), true);
    assert.equal(await page.value('document.querySelectorAll("img, iframe, b[id]").length'), 0);
    const names = await page.value('Lab.runs[0].tasks.map((task) => task.name)');
    assert.ok(names.some((name) => name.includes('</script><img')), String(names));
    await page.value('Lab.timeline.setRows("tasks"); Lab.timeline.step(1)');
    await page.settle();
    assert.ok((await page.value('document.querySelector(".focus").textContent')).includes('<img'));
  },

  async 'a benchmark has its figures, one at a time, and one run of each scheduler'(page) {
    await page.open(file('sweep.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    const seen = `[...document.querySelectorAll('.figure-of')].filter((part) => !part.hidden)`;
    assert.equal(await page.value(`${seen}.length`), 1);
    assert.ok(await count(page, '.figure-of') > 8);
    assert.equal(await page.value(`${seen}[0].querySelectorAll('svg polyline').length`), 2);
    assert.equal(await page.value(`${seen}[0].querySelectorAll('tbody tr').length`), 3);
    const first = await page.value(`${seen}[0].querySelector('h3').textContent`);
    await page.value('document.getElementById("figure").focus()');
    await page.key('ArrowDown');
    assert.equal(await page.value(`${seen}.length`), 1);
    assert.notEqual(await page.value(`${seen}[0].querySelector('h3').textContent`), first);
    assert.equal(await page.value('Lab.timeline.lanes.length'), 2 * 2);
    assert.ok(await colours(page, '#timeline-canvas') > 3);
    assert.ok((await text(page, '#comparison .note')).includes('groups 1, seed 1'));
    assert.equal(await count(page, '#printed details'), 3 * 2 * 2);
    assert.ok((await text(page, '#printed pre')).includes('Time: '));
  },

  async 'a benchmark of one point is a table'(page) {
    await page.open(file('bench.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.equal(await count(page, '#results thead th'), 4);
    assert.ok(await count(page, '#results tbody tr') > 8);
    assert.ok(await count(page, '#results td.best') > 0);
    assert.equal(await page.value('Lab.timeline.lanes.length'), 3 * 2);
    assert.equal(await count(page, '#shares figure .uplot'), 3);
    await page.send('Emulation.setDeviceMetricsOverride',
      { width: 390, height: 800, deviceScaleFactor: 2, mobile: true });
    await page.settle();
    assert.ok(await page.value('document.documentElement.scrollWidth') <= 392);
    await page.send('Emulation.setDeviceMetricsOverride',
      { width: 1300, height: 900, deviceScaleFactor: 1, mobile: false });
  },

  async 'a replay has what was recorded above the alternatives, on one axis of time'(page) {
    await page.open(file('replay.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.deepEqual(await page.value('Lab.runs.map((run) => run.spec)'), [
      'recorded', 'replayed (eevdf@6.18)', 'eevdf@6.18, nice hog +10', 'cfs@2.6.32, nice hog +10']);
    // Two CPUs of each, in the order of the columns.
    assert.deepEqual(await page.value('Lab.timeline.lanes.map((lane) => lane.run.number)'),
      [0, 0, 1, 1, 2, 2, 3, 3]);
    assert.ok(await colours(page, '#timeline-canvas') > 4);
    const [from, to] = await view(page);
    assert.ok(from === 0 && to > 1.0e9 && to < 1.3e9, `${from} ${to}`);
    // The same program has the same colour in what was recorded and in what was simulated.
    assert.ok(await page.value(`['hog', 'video', 'audio', 'typist'].every((name) => (
      Lab.runs.every((run) => run.tasks.some((task) => task.key === name))))`));
    assert.equal(await count(page, '#answer thead th'), 5);
    assert.ok(await count(page, '#answer tbody') >= 4);
    assert.ok(await count(page, '#answer .spread') > 20, 'bands');
    assert.ok(await count(page, '#answer .alike') > 0, 'no difference but chance');
    assert.ok(await count(page, '#answer .difference') > 0);
    const answer = await text(page, '#answer');
    assert.ok(answer.includes('Trust: ') && answer.includes('A: assumed eevdf@6.18'), answer);
    const { x, y } = await box(page, '#answer .term');
    await page.mouse('mouseMoved', x + 4, y + 4);
    assert.equal(await page.value('document.getElementById("tip").hidden'), false);
    await page.mouse('mouseMoved', 2, 2);
    await page.value('document.getElementById("timeline-canvas").focus()');
    await page.value('Lab.timeline.setRows("tasks")');
    await page.settle();
    assert.ok(await page.value('Lab.timeline.lanes.length') > 40);
    await page.value('Lab.timeline.setRows("cpus")');
    assert.equal(await count(page, '#comparison thead th'), 5);
  },

  async 'a recorded trace has the page of a run'(page) {
    await page.open(file('recorded.html'));
    assert.equal(await page.value('document.body.dataset.failed || ""'), '');
    assert.deepEqual(await page.value('Lab.runs.map((run) => run.spec)'), ['recorded']);
    assert.equal(await page.value('Lab.timeline.lanes.length'), 2);
    assert.ok(await colours(page, '#timeline-canvas') > 4);
    assert.ok(await count(page, '#waits tbody tr') > 5);
    assert.ok(await count(page, '#shares figure .uplot') >= 1);
  },

  async 'the demands of the papers are filtered by words, experiment and verdict'(page) {
    await page.open(file('papers.html'));
    const rows = `[...document.querySelectorAll('.demands tbody tr')]`;
    const shown = `${rows}.filter((row) => row.getClientRects().length > 0)`;
    const all = await page.value(`${rows}.length`);
    assert.ok(all > 10);
    assert.equal(await page.value(`${shown}.length`), all);
    const met = await page.value(`${rows}.filter((row) => (
      row.dataset.verdict === 'hard-met')).length`);
    assert.ok(met > 0 && met < all, `${met} of ${all}`);
    const { x, y } = await box(page, '#filter [value=hard-met]');
    for (const type of ['mousePressed', 'mouseReleased']) {
      await page.mouse(type, x + 5, y + 5, { button: 'left', clickCount: 1 });
    }
    assert.equal(await page.value(`${shown}.length`), met);
    assert.equal(await text(page, '#filter-shown'), `${met} of ${all} demands`);
    assert.ok((await page.value('location.hash')).includes('verdicts=hard-met'));
    await page.value('document.getElementById("filter-all").click()');
    await page.until(`${shown}.length === ${all}`);
    await page.value('document.getElementById("filter-words").focus()');
    await page.send('Input.insertText', { text: 'two hogs' });
    await page.settle();
    const found = await page.value(`${shown}.map((row) => row.textContent)`);
    assert.ok(found.length > 0 && found.length < all);
    assert.ok(found.every((row) => row.includes('two hogs')));
    // A link with a choice leads to it; one to an experiment that is hidden shows it.
    await page.send('Page.navigate', { url: 'about:blank' });
    await page.open(`${file('papers.html')}#in=REL-1`);
    assert.equal(await page.value(`${shown}.length`), 3);
    assert.ok(await count(page, '.demands svg.strip') > 0);
  },
};

let failed = 0;
const page = await browser.page(1300, 900);
try {
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(page);
      assert.deepEqual(page.complaints, []);
      const others = page.requests.filter((url) => (
        !url.startsWith(file('')) && url !== 'about:blank'));
      assert.deepEqual(others, []);
      console.log(`ok      ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n        ${error.stack}`);
      page.complaints.length = 0;
      page.requests.length = 0;
      const picture = join(directory, `failed-${failed}.png`);
      writeFileSync(picture, await page.screenshot());
      console.log(`        what was to be seen: ${picture}`);
    }
  }
} finally {
  await browser.close();
}
process.exitCode = failed > 0 ? 1 : 0;
