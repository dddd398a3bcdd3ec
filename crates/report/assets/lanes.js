'use strict';
// Lanes: the turns of one CPU or one task, and what of them each column of pixels shows.
//
// A column may cover one turn or ten thousand. It shows the class (task, group, state) that had most
// of it, and how much of it was busy at all. Where very many turns are in view the sums come from
// bins that are made once for each lane, so that a frame never touches more than some ten thousand
// turns.

/** So many bins have all lanes of a run together, about; and each lane at least and at most. */
const BINS_OF_ALL = 1 << 20;
const BINS_LEAST = 2048;
const BINS_MOST = 16384;
/** Up to so many turns a column are looked at one by one. */
const TURNS_OF_A_COLUMN = 6;

/** Adds up time by class, column after column, and keeps what has most. */
Lab.Tally = class {
  constructor(classes, columns) {
    this.sums = new Float64Array(classes);
    this.touched = new Uint32Array(classes);
    this.count = 0;
    this.column = -1;
    /** 1 + the class that has most; 0: none. */
    this.who = new Uint32Array(columns);
    /** The time that all classes have together. */
    this.busy = new Float64Array(columns);
  }

  add(column, kind, time) {
    if (column !== this.column) this.flush(column);
    if (this.sums[kind] === 0) this.touched[this.count++] = kind;
    this.sums[kind] += time;
  }

  /** All of these columns are of one class. */
  fill(from, to, kind, time) {
    this.flush(-1);
    this.who.fill(kind + 1, from, to);
    this.busy.fill(time, from, to);
  }

  flush(next) {
    if (this.column >= 0 && this.count > 0) {
      let most = 0;
      let sum = 0;
      let best = 0;
      for (let at = 0; at < this.count; at += 1) {
        const kind = this.touched[at];
        const time = this.sums[kind];
        sum += time;
        if (time > most) {
          most = time;
          best = kind + 1;
        }
        this.sums[kind] = 0;
      }
      this.who[this.column] = best;
      this.busy[this.column] = sum;
    }
    this.count = 0;
    this.column = next;
  }
};

/** A lane of a run: of a CPU (`kind` "cpu") or a task ("task"). */
Lab.Lane = class {
  constructor(run, kind, id, lanes) {
    this.run = run;
    this.kind = kind;
    this.id = id;
    this.rows = (kind === 'cpu' ? run.byCpu : run.byTask).of(id);
    const bins = 2 ** Math.floor(Math.log2(BINS_OF_ALL / Math.max(1, lanes)));
    this.bins = Math.min(BINS_MOST, Math.max(BINS_LEAST, bins));
    this.made = {};
  }

  /** The name of the lane. */
  get name() {
    return this.kind === 'cpu' ? `CPU ${this.id}` : this.run.tasks[this.id].name;
  }

  /** The colours have changed. */
  forget() {
    this.made = {};
  }

  /** The places in `rows` of what reaches into a stretch of time. */
  within(from, to) {
    const { start, end } = this.run;
    const { rows } = this;
    const first = Lab.firstWhere(0, rows.length, (at) => end[rows[at]] > from);
    return [first, Lab.firstWhere(first, rows.length, (at) => start[rows[at]] >= to)];
  }

  /** The turn at a moment, or -1. */
  at(time) {
    const [first, last] = this.within(time, time + 1);
    return first < last ? this.rows[first] : -1;
  }

  /** What each column shows: of turns, or (`waits`) of the waits before them, which are all of one
   *  class. `kinds`: the class of each turn; there are `classes`. */
  columns(from, to, columns, kinds, classes, waits) {
    const width = (to - from) / columns;
    const [first, last] = this.within(from, to);
    const binWidth = this.run.duration / this.bins;
    if (last - first > TURNS_OF_A_COLUMN * columns && width >= 2 * binWidth) {
      return this.fromBins(from, to, columns, kinds, classes, waits, binWidth);
    }
    return this.fromTurns(from, to, columns, kinds, classes, waits);
  }

  fromTurns(from, to, columns, kinds, classes, waits) {
    const { start, end, wait, idle } = this.run;
    const { rows } = this;
    const tally = new Lab.Tally(waits ? 1 : classes, columns);
    const width = (to - from) / columns;
    const endOf = waits ? (row) => start[row] : (row) => end[row];
    let place = Lab.firstWhere(0, rows.length, (at) => endOf(rows[at]) > from);
    for (; place < rows.length; place += 1) {
      const row = rows[place];
      const begins = waits ? start[row] - wait[row] : start[row];
      if (begins >= to) break;
      const ends = waits ? start[row] : end[row];
      if (ends <= begins) continue;
      const kind = waits ? 0 : kinds[row];
      const part = waits ? 1 : 1 - idle[row] / (ends - begins);
      const left = Math.max(begins, from);
      const right = Math.min(ends, to);
      const c0 = Math.min(columns - 1, Math.floor((left - from) / width));
      const c1 = Math.min(columns - 1, Math.floor((right - from) / width));
      if (c0 === c1) {
        tally.add(c0, kind, (right - left) * part);
        continue;
      }
      tally.add(c0, kind, (from + (c0 + 1) * width - left) * part);
      if (c1 > c0 + 1) tally.fill(c0 + 1, c1, kind, width * part);
      const rest = right - (from + c1 * width);
      if (rest > 0) tally.add(c1, kind, rest * part);
    }
    tally.flush(-1);
    return tally;
  }

  fromBins(from, to, columns, kinds, classes, waits, binWidth) {
    const key = waits ? 'waits' : 'turns';
    if (!this.made[key]) {
      const all = this.run.duration;
      this.made[key] = this.fromTurns(0, all, this.bins, kinds, classes, waits);
    }
    const { who, busy } = this.made[key];
    const tally = new Lab.Tally(waits ? 1 : classes, columns);
    const width = (to - from) / columns;
    const firstBin = Math.max(0, Math.floor(from / binWidth));
    const lastBin = Math.min(this.bins, Math.ceil(to / binWidth));
    for (let bin = firstBin; bin < lastBin; bin += 1) {
      if (who[bin] === 0) continue;
      const column = Math.floor(((bin + 0.5) * binWidth - from) / width);
      if (column >= 0 && column < columns) tally.add(column, who[bin] - 1, busy[bin]);
    }
    tally.flush(-1);
    return tally;
  }
};
