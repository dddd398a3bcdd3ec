'use strict';
// Reads the data of the page: see crates/report/src/html/columns.rs and data.rs, which write it.

/** The bytes behind base64 text. */
Lab.bytesOf = function (text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
};

/** The columns of a run by name, each an array of the smallest kind that holds its numbers. */
Lab.readColumns = async function (element, shapes) {
  const bytes = Lab.bytesOf(element.textContent.trim());
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const columns = {};
  let at = 0;
  for (const { name, length, bytes: width } of shapes) {
    const Kind = [Uint8Array, Uint8Array, Uint16Array, Uint32Array, Uint32Array][width];
    const column = new (Kind || Float64Array)(length);
    let factor = 1;
    for (let plane = 0; plane < width; plane += 1) {
      const bytesOfPlane = planes.subarray(at, at + length);
      if (plane === 0) column.set(bytesOfPlane);
      else for (let row = 0; row < length; row += 1) column[row] += bytesOfPlane[row] * factor;
      at += length;
      factor *= 256;
    }
    columns[name] = column;
  }
  return columns;
};

/** Rows grouped by a key: `rows` has them all, those of key k from `first[k]` to `first[k + 1]`, in
 *  the order in which they stand. */
Lab.groupBy = function (keys, count) {
  const first = new Uint32Array(count + 1);
  for (let row = 0; row < keys.length; row += 1) first[keys[row] + 1] += 1;
  for (let key = 0; key < count; key += 1) first[key + 1] += first[key];
  const next = first.slice();
  const rows = new Uint32Array(keys.length);
  for (let row = 0; row < keys.length; row += 1) rows[next[keys[row]]++] = row;
  return { first, rows, of: (key) => rows.subarray(first[key], first[key + 1]) };
};

/** A run: what stands in the head, and its columns made into turns. Turn i is task `task[i]` on CPU
 *  `cpu[i]` from `start[i]` to `end[i]`; `count[i]` turns if it is several put together. */
Lab.readRun = async function (number, head) {
  const columns = await Lab.readColumns(document.getElementById(`run-${number}`), head.columns);
  const meta = JSON.parse(new TextDecoder().decode(columns.meta));
  const run = { number, spec: head.spec, title: head.title, ...meta };
  run.tasks = meta.tasks.map(([name, key, group, policy, nice, priority, parent], task) => (
    { task, name, key, group, policy, nice, priority, parent }));
  run.rules = new Map(meta.rules.map(([rule, name, text]) => [rule, { name, text }]));
  run.duration = meta.end_ns;
  if (!meta.recorded) return run;
  run.buckets = columns;
  Lab.readTurns(run, columns, meta.recorded.wait_unit_ns);
  return run;
};

Lab.readTurns = function (run, columns, waitUnit) {
  const { cpu, task, gap, length, wait } = columns;
  const turns = cpu.length;
  // Forked tasks may have come that the figures do not name.
  let tasks = run.tasks.length;
  for (let row = 0; row < turns; row += 1) if (task[row] >= tasks) tasks = task[row] + 1;
  const start = new Float64Array(turns);
  const end = new Float64Array(turns);
  const waits = new Float64Array(turns);
  const ends = new Float64Array(run.cpus);
  // When each task lost its CPU, if it was runnable then; else -1.
  const lost = new Float64Array(tasks).fill(-1);
  for (let row = 0; row < turns; row += 1) {
    const lane = cpu[row];
    start[row] = ends[lane] + gap[row];
    end[row] = start[row] + length[row];
    ends[lane] = end[row];
    const who = task[row];
    const single = columns.count[row] === 0;
    const known = single && columns.came[row] === 0 && lost[who] >= 0 ? start[row] - lost[who] : 0;
    lost[who] = single && columns.left[row] === 0 ? end[row] : -1;
    const coded = wait[row];
    if (coded === 0) waits[row] = known;
    else {
      const more = coded % 2 === 1 ? -(coded + 1) / 2 : coded / 2;
      waits[row] = (Math.floor(known / waitUnit) + more) * waitUnit;
    }
  }
  for (let row = run.tasks.length; row < tasks; row += 1) {
    const name = `task-${row}`;
    run.tasks.push({ task: row, name, key: 'task', group: '/', policy: '', nice: 0, parent: -1 });
  }
  Object.assign(run, {
    turns, cpu, task, start, end, wait: waits, idle: columns.idle, several: columns.count,
    came: columns.came, left: columns.left, why: columns.why, placed: columns.placed,
    preempts: columns.preempts,
    byCpu: Lab.groupBy(cpu, run.cpus),
    byTask: Lab.groupBy(task, tasks),
  });
};

/** The turn of `task` at the moment `at`, or -1. */
Lab.turnOfTask = function (run, task, at) {
  if (!run.byTask || task >= run.tasks.length) return -1;
  const rows = run.byTask.of(task);
  const found = Lab.firstWhere(0, rows.length, (place) => run.end[rows[place]] >= at);
  return found < rows.length && run.start[rows[found]] <= at ? rows[found] : -1;
};

/** Who had CPU `cpu` between two moments: [task, ns] pairs, the longest first. */
Lab.whoRan = function (run, cpu, from, to) {
  const rows = run.byCpu.of(cpu);
  const sums = new Map();
  let place = Lab.firstWhere(0, rows.length, (at) => run.end[rows[at]] > from);
  for (; place < rows.length && run.start[rows[place]] < to; place += 1) {
    const row = rows[place];
    const part = Math.min(to, run.end[row]) - Math.max(from, run.start[row]);
    sums.set(run.task[row], (sums.get(run.task[row]) || 0) + part);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
};
