'use strict';
// Charts over time and of latencies, drawn by uPlot. Each has a label and a table for readers who
// cannot see it, and marks the stretch that the timeline shows.

Lab.charts = [];

Lab.ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Returns the mean number of runnable tasks in each stretch. */
Lab.loadOf = function (run) {
  if (!run.loads) {
    const { width_ns: width } = run.recorded;
    run.loads = Array.from(run.buckets.runnable_ns, (sum, bucket) => {
      const length = Lab.lengthOf(run, bucket, width);
      return length > 0 ? sum / length : 0;
    });
  }
  return run.loads;
};

/** Returns the values of stretches of `width`, with the length of each. If the last is too short
 *  to be meaningful, it is joined to the one before it. */
Lab.stretches = function (run, row, width, join) {
  const values = [...row];
  const lengths = values.map((_, at) => Lab.lengthOf(run, at, width));
  while (values.length > 1 && lengths[lengths.length - 1] < width / 4) {
    const value = values.pop();
    const length = lengths.pop();
    values[values.length - 1] = join(values[values.length - 1], value);
    lengths[lengths.length - 1] += length;
  }
  return { values, lengths };
};

/** Returns the length of a stretch; the last may be shorter. */
Lab.lengthOf = function (run, bucket, width) {
  return Math.max(0, Math.min(run.duration, (bucket + 1) * width) - bucket * width);
};

/** Draws a chart in a figure. `series`: name, color, dash, fill; `data`: x, then the values of
 *  each. `text` formats a value. `time`: x is time in seconds, and marking a part zooms the
 *  timeline to it. */
Lab.chart = function (place, { title, series, data, text, markText, time, log, note,
  timeline, raw }) {
  const { el } = Lab;
  const holder = el('div', { class: 'chart', role: 'img', 'aria-label': Lab.summary(title, series,
    raw || data, text) });
  const rows = series.map(({ name }, at) => {
    const values = Array.from((raw || data)[at + 1]).filter((value) => value !== null
      && Number.isFinite(value));
    const most = values.reduce((a, b) => Math.max(a, b), 0);
    const mean = values.reduce((a, b) => a + b, 0) / (values.length || 1);
    return el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, text(mean)),
      el('td', {}, text(most)));
  });
  const table = el('details', {}, el('summary', {}, 'as a table'),
    el('table', { class: 'figures' }, el('thead', {}, el('tr', {}, el('th', {}),
      el('th', { scope: 'col' }, 'mean of the points'), el('th', { scope: 'col' }, 'max'))),
    el('tbody', {}, ...rows)));
  const figure = el('figure', {}, el('figcaption', {}, el('b', {}, title),
    note ? ` ${note}` : ''), holder, table);
  place.append(figure);
  const line = () => Lab.ink('--line');
  // On a log scale only powers of ten have marks.
  const axis = (isLog) => {
    const only = (_, marks) => marks.map((mark) => (Lab.isPower(mark) ? mark : null));
    const filter = isLog ? { filter: only } : {};
    return { stroke: () => Lab.ink('--faint'), font: '12px system-ui, sans-serif', ...filter,
      grid: { stroke: line, width: 1, ...filter },
      ticks: { stroke: line, width: 1, size: 5, ...filter } };
  };
  const size = () => ({ width: Math.max(280, holder.clientWidth || 480), height: 230 });
  const shade = (plot) => {
    if (!time || !timeline) return;
    const { from, to } = timeline.view;
    if (to - from >= timeline.duration) return;
    const { left, top, width, height } = plot.bbox;
    const at = (ns) => Math.max(left, Math.min(left + width, plot.valToPos(ns / 1e9, 'x', true)));
    const [begin, end] = [at(from), Math.max(at(from) + 2, at(to))];
    plot.ctx.save();
    // What is out of view is paler.
    plot.ctx.globalAlpha = 0.45;
    plot.ctx.fillStyle = Lab.ink('--back');
    plot.ctx.fillRect(left, top, begin - left, height);
    plot.ctx.fillRect(end, top, left + width - end, height);
    plot.ctx.globalAlpha = 1;
    plot.ctx.strokeStyle = Lab.ink('--accent');
    plot.ctx.lineWidth = 1.5;
    plot.ctx.strokeRect(begin, top, end - begin, height);
    plot.ctx.restore();
  };
  const options = {
    ...size(),
    scales: {
      x: log && log.x ? { time: false, distr: 3 } : { time: false },
      y: log && log.y ? { distr: 3 } : { range: (_, least, most) => [Math.min(0, least),
        most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      { ...axis(log && log.x), size: 32, values: (_, marks) => marks.map((mark) => (
        mark === null ? '' : time ? `${+mark.toFixed(9)} s` : Lab.short(mark))) },
      { ...axis(log && log.y), size: 62, values: (_, marks) => marks.map((mark) => (
        mark === null ? '' : (markText || text)(mark))) },
    ],
    series: [
      { label: time ? 'at' : 'latency', value: (_, value) => (value === null || value === undefined
        ? '–' : time ? `${Lab.moment(value * 1e9, 1e5)} s` : Lab.duration(value)) },
      ...series.map(({ name, color, dash, fill, stepped }, at) => ({
        label: name,
        stroke: color,
        width: fill ? 0 : 1.75,
        dash,
        fill,
        points: { show: false },
        paths: stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
        value: (_, value, __, place) => {
          const shown = raw && place !== null && place !== undefined ? raw[at + 1][place] : value;
          return shown === null || shown === undefined ? '–' : text(shown);
        },
      })),
    ],
    cursor: { drag: { x: Boolean(time && timeline), y: false, setScale: false },
      sync: time ? { key: 'time' } : undefined, points: { show: !raw } },
    hooks: {
      draw: [shade],
      setSelect: [(plot) => {
        if (!time || !timeline || plot.select.width < 3) return;
        const { left, width } = plot.select;
        timeline.setView(plot.posToVal(left, 'x') * 1e9, plot.posToVal(left + width, 'x') * 1e9);
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
    },
  };
  const plot = new uPlot(options, data, holder);
  new ResizeObserver(() => {
    if (Math.abs(holder.clientWidth - plot.width) > 2) plot.setSize(size());
  }).observe(holder);
  Lab.charts.push(plot);
  return plot;
};

/** Formats a duration for marks: without needless zeros. */
Lab.short = (ns) => Lab.duration(ns).replace(/\.0+ /, ' ').replace(/(\.\d*?)0+ /, '$1 ');

/** Formats a percentage for marks. */
Lab.shortPercent = (part) => `${+(100 * part).toPrecision(3)} %`;

Lab.isPower = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6;

Lab.summary = function (title, series, data, text) {
  const parts = series.slice(0, 12).map(({ name }, at) => {
    const most = Array.from(data[at + 1]).reduce((a, b) => Math.max(a, b || 0), 0);
    return `${name} max ${text(most)}`;
  });
  return `${title}: ${parts.join(', ')}`;
};

/** Returns the style of the curve of a scheduler. */
Lab.lineOf = function (number) {
  const color = Lab.PALETTE[number % Lab.PALETTE.length];
  const dash = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]][Math.floor(number / 4) % 4];
  return { color, dash };
};

// ---- CPU share

Lab.shareCharts = function (place, runs, timeline) {
  const { el } = Lab;
  const charts = el('div', { class: 'charts' });
  const draw = (by) => {
    Lab.charts = Lab.charts.filter((plot) => {
      const gone = charts.contains(plot.root);
      if (gone) plot.destroy();
      return !gone;
    });
    charts.replaceChildren();
    for (const run of runs) Lab.shareChart(charts, run, by, runs, timeline);
  };
  const list = el('select', { onchange: () => draw(list.value) },
    ...Object.entries({ program: 'program', task: 'task', group: 'group' })
      .map(([value, name]) => el('option', { value }, name)));
  place.append(el('div', { class: 'bar' }, el('label', {}, 'Stacked by ', list),
    el('span', { class: 'hint' }, 'Drag over a chart to see that stretch in the timeline.')),
  charts);
  draw('program');
};

Lab.shareChart = function (place, run, by, runs, timeline) {
  const { buckets: count, width_ns: width } = run.recorded;
  const rows = new Map();
  const add = (name, from) => {
    if (!rows.has(name)) rows.set(name, new Float64Array(count));
    const row = rows.get(name);
    const all = by === 'group' ? run.buckets.of_groups : run.buckets.of_tasks;
    for (let at = 0; at < count; at += 1) row[at] += all[from * count + at];
  };
  const all = by === 'group' ? run.buckets.of_groups : run.buckets.of_tasks;
  const things = all.length / count;
  // The last of these rows is that of all others without their own row.
  const most = by === 'group' ? 128 : 1024;
  for (let thing = 0; thing < things; thing += 1) {
    const task = run.tasks[thing];
    const name = thing >= most ? 'all others' : by === 'group' ? run.groups[thing] || `#${thing}`
      : !task ? `task-${thing}` : by === 'program' ? task.key : task.name;
    add(name, thing);
  }
  const sum = (row) => row.reduce((a, b) => a + b, 0);
  const sorted = [...rows].map(([name, row]) => ({ name, row, sum: sum(row) }))
    .filter((one) => one.sum > 0).sort((a, b) => b.sum - a.sum);
  const shown = sorted.slice(0, 12);
  if (sorted.length > 12) {
    const rest = new Float64Array(count);
    for (const { row } of sorted.slice(12)) row.forEach((ns, at) => { rest[at] += ns; });
    shown.push({ name: `${sorted.length - 12} others`, row: rest });
  }
  const coloring = Lab.coloring(by, runs);
  const color = (name) => {
    const at = coloring.names.indexOf(name);
    return at >= 0 ? Lab.css(coloring.colors[at]) : '#8a8f98';
  };
  const parts = shown.map(({ row }) => {
    const { values, lengths } = Lab.stretches(run, row, width, (a, b) => a + b);
    return values.map((ns, at) => ns / (lengths[at] * run.cpus));
  });
  const bars = parts.length ? parts[0].length : 0;
  const x = Array.from({ length: bars }, (_, at) => at * width / 1e9);
  // Each is drawn over those on which it is stacked: the highest first.
  const stacked = parts.map(() => new Array(bars).fill(0));
  for (let at = 0; at < bars; at += 1) {
    let height = 0;
    for (let one = parts.length - 1; one >= 0; one -= 1) {
      height += parts[one][at];
      stacked[one][at] = height;
    }
  }
  const series = shown.map(({ name }) => ({ name, color: color(name), fill: color(name),
    stepped: true }));
  Lab.chart(place, { title: run.spec, series, data: [x, ...stacked], raw: [x, ...parts],
    text: Lab.percent, markText: Lab.shortPercent, time: true, timeline, note: 'of all CPUs' });
};

// ---- Latency

Lab.latencyCharts = function (place, runs) {
  const some = runs.filter((run) => run.latency.count > 0);
  if (some.length === 0) return;
  const charts = Lab.el('div', { class: 'charts' });
  place.append(charts);
  const least = 100;
  const most = Math.max(1e4, ...some.map((run) => run.latency.max_ns));
  const top = Math.ceil(Math.log10(most) * 8) / 8;
  const bottom = Math.log10(least);
  const points = 320;
  const x = Array.from({ length: points + 1 }, (_, at) => (
    10 ** (bottom + (top - bottom) * at / points)));
  const cdf = some.map((run) => {
    const rows = run.latency_histogram;
    let at = 0;
    let seen = 0;
    return x.map((limit) => {
      while (at < rows.length && Math.min(rows[at][1], run.latency.max_ns) <= limit * 1.0000001) {
        seen += rows[at][2];
        at += 1;
      }
      return seen / run.latency.count;
    });
  });
  const lines = some.map((run) => ({ name: run.spec, ...Lab.lineOf(run.number) }));
  Lab.chart(charts, { title: 'Cumulative', note: 'part of all wakeups that waited no longer',
    series: lines, data: [x, ...cdf], text: Lab.percent, markText: Lab.shortPercent,
    log: { x: true } });
  const tail = cdf.map((row) => row.map((part) => (part < 1 ? 1 - part : null)));
  if (tail.some((row) => row.some((part) => part > 0))) {
    Lab.chart(charts, { title: 'Tail',
      note: 'part of all wakeups that waited longer, on a log scale',
      series: lines, data: [x, ...tail], log: { x: true, y: true },
      text: (part) => `${+(100 * part).toPrecision(2)} %` });
  }
  const each = 8;
  const bins = Math.round((top - bottom) * each) + 1;
  const edges = Array.from({ length: bins }, (_, at) => 10 ** (bottom + at / each));
  const counts = some.map((run) => {
    const row = new Array(bins).fill(0);
    for (const [low, high, count] of run.latency_histogram) {
      const value = Math.max(least, (low + high) / 2);
      const bin = Math.min(bins - 1, Math.floor((Math.log10(value) - bottom) * each));
      row[bin] += count / run.latency.count;
    }
    return row;
  });
  Lab.chart(charts, { title: 'Histogram',
    note: 'part of all wakeups, eight bins to a power of ten; '
    + 'the first has all below 0.1 µs', series: lines.map((line) => ({ ...line, stepped: true })),
  data: [edges, ...counts], text: Lab.percent, markText: Lab.shortPercent, log: { x: true } });
};

// ---- Load

Lab.loadCharts = function (place, runs, timeline) {
  const charts = Lab.el('div', { class: 'charts' });
  place.append(charts);
  // Stretches are powers of two: those of all runs can be converted to the widest exactly.
  const width = Math.max(...runs.map((run) => run.recorded.width_ns));
  const count = Math.max(...runs.map((run) => Math.ceil(run.duration / width)));
  const x = Array.from({ length: count }, (_, at) => at * width / 1e9);
  const over = (name, join, perLength) => runs.map((run) => {
    const each = width / run.recorded.width_ns;
    const row = new Array(Math.ceil(run.duration / width)).fill(0);
    run.buckets[name].forEach((value, at) => {
      // Events at the very end belong to the last stretch.
      const to = Math.min(row.length - 1, Math.floor(at / each));
      row[to] = join(row[to], value);
    });
    const { values, lengths } = Lab.stretches(run, row, width, join);
    const shown = values.map((value, at) => (
      perLength ? value / (lengths[at] / perLength) : value));
    while (shown.length < count) shown.push(null);
    return shown;
  });
  const add = (a, b) => a + b;
  const lines = runs.map((run) => ({ name: run.spec, ...Lab.lineOf(run.number), stepped: true }));
  const tasks = (value) => (value < 10 ? `${+value.toFixed(2)}` : Lab.count(value));
  const rate = (value) => `${Lab.count(value)} /s`;
  const draw = (title, note, data, text) => Lab.chart(charts, { title, note, series: lines,
    data: [x, ...data], text, time: true, timeline,
    markText: text === Lab.duration ? Lab.short : text });
  draw('Runnable tasks', 'running or waiting, mean', over('runnable_ns', add, 1), tasks);
  draw('Runnable tasks', 'maximum at one time', over('runnable_max', Math.max), tasks);
  draw('Longest wait', 'that ended in each stretch', over('wait_max_ns', Math.max), Lab.duration);
  draw('Context switches', 'including those to and from idle', over('switches', add, 1e9), rate);
  draw('Migrations', 'between runqueues', over('migrations', add, 1e9), rate);
  const lagging = runs.filter((run) => run.recorded.has_lags);
  if (lagging.length === runs.length) {
    draw('Lag', 'maximum that a task was owed by the ideal fluid machine',
      over('owed_max_ns', Math.max), Lab.duration);
  }
};
