'use strict';
// Reads the data of the page: see crates/report/src/html/columns.rs and data.rs, which write it.

/** Returns the bytes of base64 text. */
Lab.bytesOf = function (text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
};

/** Reads the columns of a run by name, each as an array of the smallest type that holds its
 *  numbers. */
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

/** Groups rows by a key: `rows` has all of them, those of key k from `first[k]` to `first[k + 1]`,
 *  in their original order. */
Lab.groupBy = function (keys, count) {
  const first = new Uint32Array(count + 1);
  for (let row = 0; row < keys.length; row += 1) first[keys[row] + 1] += 1;
  for (let key = 0; key < count; key += 1) first[key + 1] += first[key];
  const next = first.slice();
  const rows = new Uint32Array(keys.length);
  for (let row = 0; row < keys.length; row += 1) rows[next[keys[row]]++] = row;
  return { first, rows, of: (key) => rows.subarray(first[key], first[key + 1]) };
};

/** Reads a run: its part of the head, and its columns converted to slices. Slice i is task
 *  `task[i]` on CPU `cpu[i]` from `start[i]` to `end[i]`; it stands for `count[i]` slices if
 *  several were merged. */
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

/** Kinds of slices, as data.rs numbers them. */
Lab.KIND = { started: 1, wokenByTask: 4, otherWait: 5, several: 6 };

/** Converts columns to slices. `came` of a slice is 0 if the task had lost its CPU, 1 if it was
 *  new, 2 if it was woken by an interrupt, 3 by the kernel, 4 + n by task n. `several` is the
 *  number of further slices merged into it, in which `task` ran for at least `own`, and the CPU
 *  was idle for `idle`. */
Lab.readTurns = function (run, columns, waitUnit) {
  const { KIND } = Lab;
  const { cpu, task, gap, length, kind } = columns;
  const turns = cpu.length;
  // There may be forked tasks that the figures do not name.
  let tasks = run.tasks.length;
  for (let row = 0; row < turns; row += 1) if (task[row] >= tasks) tasks = task[row] + 1;
  const start = new Float64Array(turns);
  const end = new Float64Array(turns);
  const wait = new Float64Array(turns);
  const came = new Uint32Array(turns);
  const several = new Uint32Array(turns);
  const idle = new Float64Array(turns);
  const own = new Float64Array(turns);
  const left = new Uint8Array(turns);
  const why = new Uint8Array(turns);
  const placed = new Uint8Array(turns);
  const preempts = new Uint8Array(turns);
  const ends = new Float64Array(run.cpus);
  // Time at which each task lost its CPU, if it was runnable then; otherwise -1.
  const lost = new Float64Array(tasks).fill(-1);
  // Position in the columns that have values for some slices only.
  let single = 0;
  let woken = 0;
  let waited = 0;
  let byTask = 0;
  let joined = 0;
  for (let row = 0; row < turns; row += 1) {
    const lane = cpu[row];
    const who = task[row];
    const how = kind[row];
    start[row] = ends[lane] + gap[row];
    end[row] = start[row] + length[row];
    ends[lane] = end[row];
    if (how === KIND.several) {
      several[row] = columns.count[joined];
      idle[row] = columns.idle[joined];
      own[row] = columns.own[joined];
      joined += 1;
      lost[who] = -1;
      continue;
    }
    left[row] = columns.left[single];
    why[row] = columns.why[single];
    single += 1;
    if (how >= KIND.started && how <= KIND.otherWait) {
      wait[row] = columns.wait[waited] * waitUnit;
      waited += 1;
    } else if (lost[who] >= 0) wait[row] = start[row] - lost[who];
    if (how >= KIND.started && how <= KIND.wokenByTask) {
      placed[row] = columns.placed[woken];
      preempts[row] = columns.preempts[woken];
      woken += 1;
      came[row] = how;
    }
    if (how === KIND.wokenByTask) {
      came[row] = KIND.wokenByTask + columns.waker[byTask];
      byTask += 1;
    }
    lost[who] = left[row] === 0 ? end[row] : -1;
  }
  for (let row = run.tasks.length; row < tasks; row += 1) {
    const name = `task-${row}`;
    run.tasks.push({ task: row, name, key: 'task', group: '/', policy: '', nice: 0, parent: -1 });
  }
  Object.assign(run, { turns, cpu, task, start, end, wait, idle, own, several, came, left, why,
    placed, preempts, byCpu: Lab.groupBy(cpu, run.cpus), byTask: Lab.groupBy(task, tasks) });
};

/** Returns the slice of `task` at the moment `at`, or -1. */
Lab.turnOfTask = function (run, task, at) {
  if (!run.byTask || task >= run.tasks.length) return -1;
  const rows = run.byTask.of(task);
  const found = Lab.firstWhere(0, rows.length, (place) => run.end[rows[place]] >= at);
  return found < rows.length && run.start[rows[found]] <= at ? rows[found] : -1;
};

/** Returns the tasks that had CPU `cpu` between two moments: [task, ns] pairs, the longest first.
 *  */
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
