// Measures how long frames of the timeline take while it is zoomed and panned, for rows of CPUs and
// of tasks. A benchmark: it says what it found, and does not judge. `frames.sh` makes the page and
// calls this with its file.
//
//     node tests/browser/frames.mjs PAGE.html [FRAMES]

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser, findChromium } from './chromium.mjs';

const [file, frames = '120'] = process.argv.slice(2);
const browser = new Browser(findChromium());

/** In the page: moves the timeline once a frame, and notes how long its painting took and how far
 *  apart frames were, ms. */
const measure = `(move, frames) => new Promise((done) => {
  const { timeline } = Lab;
  const took = [];
  const apart = [];
  let last = 0;
  const step = (at) => {
    if (last) apart.push(at - last);
    last = at;
    if (took.length === frames) {
      done({ took, apart });
      return;
    }
    move(timeline, took.length, frames);
    // It is painted here, and not once more by itself.
    cancelAnimationFrame(timeline.frame);
    timeline.frame = 0;
    const began = performance.now();
    timeline.paint();
    took.push(performance.now() - began);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** What is done: from the whole run down to 100 us and back; along the run at several widths. */
const moves = {
  'zoom in and out': `(timeline, at, frames) => {
    const part = at < frames / 2 ? at / (frames / 2) : (frames - at) / (frames / 2);
    const span = timeline.duration * (1e5 / timeline.duration) ** part;
    const middle = timeline.duration * 0.437;
    timeline.setView(middle - span / 2, middle + span / 2);
  }`,
  ...Object.fromEntries([1, 0.3, 0.1, 0.01, 0.001].map((width) => [
    `pan, ${width === 1 ? 'nearly all' : `${100 * width} %`} in view`,
    `(timeline, at, frames) => {
      const span = timeline.duration * ${width === 1 ? 0.97 : width};
      const from = (timeline.duration - span) * (at / frames);
      timeline.setView(from, from + span);
    }`])),
};

const quantile = (list, part) => {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
};

const page = await browser.page(1600, 1000);
try {
  await page.open(pathToFileURL(resolve(file)).href);
  const [turns, tasks, cpus, ready, painted] = await page.value(`[
    Lab.runs.reduce((sum, run) => sum + run.turns, 0),
    Math.max(...Lab.runs.map((run) => run.tasks.length)), Lab.runs[0].cpus,
    document.body.dataset.ready, document.body.dataset.painted]`);
  console.log(`${turns} turns, ${tasks} tasks, ${cpus} CPUs, ${await page.value('Lab.runs.length')} `
    + `run(s); first picture after ${painted} ms, all of the page after ${ready} ms`);
  const width = await page.value('Lab.timeline.width');
  console.log(`the timeline is ${width} points wide, painted in software\n`);
  const head = ['rows', 'what', 'lanes in sight', 'first', 'median', 'p95', 'most', 'apart p95'];
  console.log(`| ${head.join(' | ')} |\n|${head.map((_, at) => (at < 2 ? '---' : '---:')).join('|')}|`);
  for (const rows of ['cpus', 'tasks']) {
    await page.value(`Lab.timeline.setRows('${rows}')`);
    await page.value('Lab.timeline.setView(0, Lab.timeline.duration)');
    await page.settle();
    const lanes = await page.value(`Lab.timeline.lanes.filter((lane) => (
      Lab.timeline.top(lane) < Lab.timeline.visible)).length`);
    const report = ({ took, apart }, name) => {
      const ms = (value) => value.toFixed(1);
      const cells = [rows, name, lanes, ms(took[0]), ms(quantile(took, 0.5)),
        ms(quantile(took, 0.95)), ms(Math.max(...took)), ms(quantile(apart, 0.95))];
      console.log(`| ${cells.join(' | ')} |`);
    };
    for (const [name, move] of Object.entries(moves)) {
      // The bins of lanes are made anew: the first frame has all of that.
      await page.value('Lab.timeline.lanes.forEach((lane) => lane.forget())');
      report(await page.value(`(${measure})(${move}, ${Number(frames)})`), name);
    }
    const scroll = `(timeline, at, frames) => {
      const room = timeline.scroll.scrollHeight - timeline.scroll.clientHeight;
      timeline.scroll.scrollTop = room * (at / frames);
    }`;
    if (rows === 'tasks') {
      await page.value('Lab.timeline.setView(0, Lab.timeline.duration)');
      await page.value('Lab.timeline.lanes.forEach((lane) => lane.forget())');
      report(await page.value(`(${measure})(${scroll}, ${Number(frames)})`), 'scroll all rows');
    }
  }
} finally {
  await browser.close();
}
