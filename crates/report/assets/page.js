'use strict';
// Assembles the page: reads the data, creates the timeline first, then what is below it.

Lab.theme = function () {
  const button = document.getElementById('theme');
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const show = () => {
    const isDark = chosen === null ? dark.matches : chosen === 'dark';
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    button.textContent = isDark ? 'Light' : 'Dark';
    if (Lab.timeline) Lab.timeline.draw();
    Lab.charts.forEach((plot) => plot.redraw(false));
  };
  button.addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    show();
  });
  dark.addEventListener('change', show);
  show();
};

/** Shows definitions of rows on hover, and on keyboard focus. */
Lab.terms = function () {
  for (const term of document.querySelectorAll('[data-tip]')) {
    const tip = document.getElementById('tip');
    const show = (x, y) => {
      Lab.showTip(term.dataset.tip.split('\n').map((line) => Lab.el('p', {}, line)), x, y);
      term.setAttribute('aria-describedby', tip.id);
    };
    term.addEventListener('mousemove', (event) => show(event.clientX, event.clientY));
    term.addEventListener('mouseleave', Lab.hideTip);
    term.addEventListener('focus', () => {
      const box = term.getBoundingClientRect();
      show(box.left, box.bottom);
    });
    term.addEventListener('blur', Lab.hideTip);
  }
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') Lab.hideTip();
  });
};

/** Keeps the position of the timeline in the address, so that a link leads there. A hash without
 *  `=` is that of a section. */
Lab.links = function (timeline) {
  const read = () => {
    const hash = window.location.hash.slice(1);
    if (!hash.includes('=')) return;
    try {
      timeline.restore(Object.fromEntries(new URLSearchParams(hash)));
    } catch (error) {
      // A link that was cut leads to the whole run.
      timeline.setView(0, timeline.duration);
    }
  };
  const write = () => {
    const hash = `#${new URLSearchParams(timeline.state())}`;
    if (hash === window.location.hash) return;
    try {
      window.history.replaceState(null, '', hash);
    } catch (error) {
      // Some browsers limit how often a file may do that; the next time will work.
    }
  };
  window.addEventListener('hashchange', read);
  return { read, write };
};

Lab.fail = function (error) {
  document.body.dataset.failed = String(error);
  document.querySelector('main').prepend(Lab.el('p', { class: 'note', role: 'alert' },
    `The data of this page cannot be read (${error.message}). Use a browser of 2023 or later.`));
};

Lab.start = async function () {
  Lab.theme();
  Lab.terms();
  Lab.figures();
  const head = JSON.parse(document.getElementById('head').textContent);
  const runs = await Promise.all(head.runs.map((run, number) => Lab.readRun(number, run)));
  Lab.runs = runs;
  const recorded = runs.filter((run) => run.recorded);
  if (recorded.length > 0) {
    let links = null;
    const timeline = new Lab.Timeline(document.getElementById('timeline-place'), recorded, () => {
      if (links) links.write();
      Lab.charts.forEach((plot) => plot.redraw(false));
    });
    Lab.timeline = timeline;
    links = Lab.links(timeline);
    links.read();
    // The first picture is drawn before everything below it.
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
    document.body.dataset.painted = String(Math.round(performance.now()));
    Lab.shareCharts(document.getElementById('shares-place'), recorded, timeline);
    Lab.loadCharts(document.getElementById('load-place'), recorded, timeline);
    Lab.waitsTable(document.getElementById('waits-place'), recorded, timeline);
  }
  if (runs.length > 0) Lab.latencyCharts(document.getElementById('latency-place'), runs);
  document.body.dataset.ready = String(Math.round(performance.now()));
};

Lab.start().catch(Lab.fail);
