'use strict';
// Lanes: the slices of one CPU or one task, and their representation in each column of pixels.
//
// A column may cover one slice or ten thousand. It is cut into cells from the bottom up. Each
// category (task, group, state) gets a number of cells in proportion to its time; the remaining
// cells were idle. So a lane shows blocks when zoomed in and shares when zoomed out. Where very
// many slices are in view, the cells come from bins that are computed once for each lane, so that a
// frame never touches more than some ten thousand slices.

/** Number of cells of a column on the screen, by the kind of the lane (those of tasks are lower),
 *  and of a bin. */
Lab.CELLS = { cpu: 12, task: 7 };
const CELLS_OF_BIN = 8;
/** Number of bins of a lane. */
const BINS = 16384;
/** Maximum number of lanes that have bins at the same time. */
const LANES_WITH_BINS = 80;
/** Number of slices per column up to which they are drawn one by one. */
const TURNS_OF_A_COLUMN = 3;

/** Adds up time by category, column by column, and divides each column's cells. */
Lab.Tally = class {
  /** Creates columns of equal width. `rare`: categories below this get a cell however little time
   *  they have. */
  constructor(classes, columns, width, cells, rare) {
    this.sums = new Float64Array(classes);
    this.touched = [];
    this.column = -1;
    this.width = width;
    this.cells = cells;
    this.rare = rare;
    /** Cell c of column i is at `i * cells + c`: 1 + its category; 0: idle. */
    this.who = new Uint32Array(columns * cells);
    /** Total time of all categories. */
    this.busy = new Float64Array(columns);
  }

  add(column, kind, time) {
    if (column !== this.column) this.flush(column);
    if (this.sums[kind] === 0) this.touched.push(kind);
    this.sums[kind] += time;
  }

  /** Fills these columns with one category. */
  fill(from, to, kind) {
    this.flush(-1);
    this.busy.fill(this.width, from, to);
    this.who.fill(kind + 1, from * this.cells, to * this.cells);
  }

  flush(next) {
    const { column, touched, sums, cells, who } = this;
    if (column >= 0 && touched.length > 0) {
      if (touched.length > 1) touched.sort((a, b) => a - b);
      let sum = 0;
      let best = touched[0];
      for (const kind of touched) {
        sum += sums[kind];
        if (sums[kind] > sums[best]) best = kind;
      }
      this.busy[column] = sum;
      const scale = cells / this.width;
      const tall = Math.min(cells, Math.max(1, Math.round(sum * scale)));
      const base = column * cells;
      let done = 0;
      let at = 0;
      for (const kind of touched) {
        done += sums[kind] * scale;
        let to = Math.min(tall, Math.round(done));
        if (to === at && kind < this.rare && at < tall) to = at + 1;
        for (; at < to; at += 1) who[base + at] = kind + 1;
        sums[kind] = 0;
      }
      for (; at < tall; at += 1) who[base + at] = best + 1;
    }
    touched.length = 0;
    this.column = next;
  }
};

/** Lane of a run: of a CPU (`kind` "cpu") or a task ("task"). */
Lab.Lane = class {
  constructor(run, kind, id) {
    this.run = run;
    this.kind = kind;
    this.id = id;
    this.rows = (kind === 'cpu' ? run.byCpu : run.byTask).of(id);
    this.cells = Lab.CELLS[kind];
    this.bins = BINS;
    this.made = null;
    this.copied = null;
  }

  /** Returns the name of the lane. */
  get name() {
    return this.kind === 'cpu' ? `CPU ${this.id}` : this.run.tasks[this.id].name;
  }

  /** Discards caches: the colours have changed, or the lane is out of sight. */
  forget() {
    this.made = null;
    this.copied = null;
  }

  /** Returns copies of the slices of a task next to each other as long as the lane is in sight,
   *  because they are far apart in those of the run. */
  near(kinds) {
    if (this.kind !== 'task') return null;
    if (!this.copied) {
      const { run, rows } = this;
      const copy = (of) => {
        const to = new of.constructor(rows.length);
        for (let place = 0; place < rows.length; place += 1) to[place] = of[rows[place]];
        return to;
      };
      this.copied = { start: copy(run.start), end: copy(run.end), wait: copy(run.wait),
        several: copy(run.several), kinds: copy(kinds) };
    }
    return this.copied;
  }

  /** Discards bins and copies of lanes that are out of sight, if there are many. */
  static tidy(all, seen) {
    const made = [...all].filter((lane) => lane.made || lane.copied);
    if (made.length <= LANES_WITH_BINS) return;
    const visible = new Set(seen);
    for (const lane of made) if (!visible.has(lane)) lane.forget();
  }

  /** Returns the range in `rows` of the slices that overlap a stretch of time. */
  within(from, to) {
    const { start, end } = this.run;
    const { rows } = this;
    const first = Lab.firstWhere(0, rows.length, (at) => end[rows[at]] > from);
    return [first, Lab.firstWhere(first, rows.length, (at) => start[rows[at]] >= to)];
  }

  /** Returns the slice at a moment, or -1. */
  at(time) {
    const [first, last] = this.within(time, time + 1);
    return first < last ? this.rows[first] : -1;
  }

  /** Returns the contents of each column: of slices, or (`waits`) of the waits before them, which
   *  all have one category. `kinds`: the category of each slice; there are `classes` categories,
   *  the last of which is time of several tasks together; those below `rare` are always visible.
   *  `kindOfTask`: that of the lane's task. */
  columns(from, to, columns, kinds, classes, rare, waits, kindOfTask) {
    const width = (to - from) / columns;
    if (!waits && this.isKnownBySums(width)) {
      const tally = new Lab.Tally(classes, columns, width, this.cells, rare);
      this.addSums(tally, from, columns, width, kindOfTask);
      tally.flush(-1);
      return tally;
    }
    const [first, last] = this.within(from, to);
    const binWidth = this.run.duration / this.bins;
    const many = last - first > TURNS_OF_A_COLUMN * columns && width >= 2 * binWidth;
    const cells = waits ? 1 : this.cells;
    const tally = new Lab.Tally(waits ? 1 : classes, columns, width, cells, rare);
    if (many) this.addBins(tally, from, to, columns, kinds, classes, rare, waits, binWidth);
    else this.addTurns(tally, from, to, columns, kinds, waits);
    tally.flush(-1);
    return tally;
  }

  /** Where slices are merged, those of a single task are unknown. Its time in each stretch is
   *  known, and is shown where a stretch is a few columns wide. */
  isKnownBySums(width) {
    const { grain_ns: grain, width_ns: stretch } = this.run.recorded;
    return this.kind === 'task' && grain > 0 && this.id < 1024 && width >= stretch / 8;
  }

  addSums(tally, from, columns, width, kind) {
    const { buckets: count, width_ns: stretch } = this.run.recorded;
    const sums = this.run.buckets.of_tasks.subarray(this.id * count, (this.id + 1) * count);
    for (let column = 0; column < columns; column += 1) {
      const bucket = Math.floor((from + (column + 0.5) * width) / stretch);
      const length = Lab.lengthOf(this.run, bucket, stretch);
      if (sums[bucket] > 0 && length > 0) tally.add(column, kind, sums[bucket] / length * width);
    }
  }

  /** Adds several slices as one: the minimum time of its task, and the time of unknown tasks. */
  addSeveral(tally, row, from, columns, width, kind) {
    const { start, end, idle, own } = this.run;
    const mixed = tally.sums.length - 1;
    const length = end[row] - start[row];
    const of = own[row] / length;
    const rest = 1 - (idle[row] + own[row]) / length;
    const first = Math.max(0, Math.floor((start[row] - from) / width));
    for (let column = first; column < columns; column += 1) {
      const left = Math.max(start[row], from + column * width);
      const time = Math.min(end[row], from + (column + 1) * width) - left;
      if (time <= 0) break;
      tally.add(column, kind, time * of);
      // In the row of a task the rest belongs to others.
      if (rest > 0 && this.kind === 'cpu') tally.add(column, mixed, time * rest);
    }
  }

  addTurns(tally, from, to, columns, kinds, waits) {
    const { rows } = this;
    const near = this.near(kinds);
    const { start, end, wait, several } = near || this.run;
    const kindOf = near ? near.kinds : kinds;
    const width = (to - from) / columns;
    const ends = waits ? start : end;
    let place = Lab.firstWhere(0, rows.length, (at) => ends[near ? at : rows[at]] > from);
    for (; place < rows.length; place += 1) {
      const row = near ? place : rows[place];
      const begins = waits ? start[row] - wait[row] : start[row];
      if (begins >= to) break;
      if (ends[row] <= begins) continue;
      const kind = waits ? 0 : kindOf[row];
      if (!waits && several[row]) {
        this.addSeveral(tally, rows[place], from, columns, width, kind);
        continue;
      }
      const left = Math.max(begins, from);
      const right = Math.min(ends[row], to);
      const c0 = Math.min(columns - 1, Math.floor((left - from) / width));
      const c1 = Math.min(columns - 1, Math.floor((right - from) / width));
      if (c0 === c1) {
        tally.add(c0, kind, right - left);
        continue;
      }
      tally.add(c0, kind, from + (c0 + 1) * width - left);
      if (c1 > c0 + 1) tally.fill(c0 + 1, c1, kind);
      const rest = right - (from + c1 * width);
      if (rest > 0) tally.add(c1, kind, rest);
    }
  }

  addBins(tally, from, to, columns, kinds, classes, rare, waits, binWidth) {
    const key = waits ? 'waits' : 'turns';
    const cells = waits ? 1 : CELLS_OF_BIN;
    if (!this.made) this.made = {};
    if (!this.made[key]) {
      const all = new Lab.Tally(waits ? 1 : classes, this.bins, binWidth, cells, rare);
      this.addTurns(all, 0, this.run.duration, this.bins, kinds, waits);
      all.flush(-1);
      this.made[key] = all;
    }
    const { who, busy } = this.made[key];
    const width = (to - from) / columns;
    const firstBin = Math.max(0, Math.floor(from / binWidth));
    const lastBin = Math.min(this.bins, Math.ceil(to / binWidth));
    for (let bin = firstBin; bin < lastBin; bin += 1) {
      if (busy[bin] === 0) continue;
      const column = Math.floor(((bin + 0.5) * binWidth - from) / width);
      if (column < 0 || column >= columns) continue;
      // The cells of a bin share its time.
      let used = 0;
      while (used < cells && who[bin * cells + used] !== 0) used += 1;
      for (let cell = 0; cell < used; cell += 1) {
        tally.add(column, who[bin * cells + cell] - 1, busy[bin] / used);
      }
    }
  }
};
