'use strict';
// The timeline: schedulers below each other on one axis of time, CPUs or tasks as rows.
//
// `view` is the stretch of time that is shown, in ns. Every change of the picture requests a frame
// (`draw`). A frame paints one row of pixels for each lane into a small picture, which is stretched
// to the lanes, and then draws over it whatever has room: borders, names, arrows.

Lab.Timeline = class {
  /** Creates a timeline in `place`, of those runs that were recorded. `changed` is called when the
   *  view has moved. */
  constructor(place, runs, changed) {
    this.runs = runs;
    this.changed = changed;
    this.duration = Math.max(1000, ...runs.map((run) => run.duration));
    this.view = { from: 0, to: this.duration };
    this.rows = 'cpus';
    this.shown = new Set(runs.slice(0, 4).map((run) => run.number));
    this.arrows = true;
    this.find = '';
    /** Lane with the keyboard focus, and the slice in it. */
    this.lane = 0;
    this.turn = null;
    this.hover = null;
    this.pointers = new Map();
    this.scrolled = 0;
    this.build(place);
    this.setColoring('program');
    this.watch();
  }

  // ---- Parts

  build(place) {
    const { el } = Lab;
    const button = (text, title, onclick) => (
      el('button', { type: 'button', title, onclick }, text));
    const select = (label, options, act) => {
      const list = el('select', { onchange: () => act(list.value) },
        ...Object.entries(options).map(([value, text]) => el('option', { value }, text)));
      return { list, box: el('label', {}, `${label} `, list) };
    };
    const rows = select('Rows', { cpus: 'CPUs', tasks: 'tasks' }, (value) => this.setRows(value));
    const colors = select('Colour', Lab.COLORINGS, (value) => this.setColoring(value));
    this.rowsList = rows.list;
    this.colorsList = colors.list;
    this.search = el('input', { type: 'search', placeholder: 'task …', size: 12,
      list: 'task-names', 'aria-label': 'Search for a task', autocomplete: 'off',
      oninput: () => this.setFind(this.search.value),
      onkeydown: (event) => {
        if (event.key === 'Enter') this.nextFound(event.shiftKey);
      } });
    this.found = el('span', { class: 'found', 'aria-live': 'polite' });
    const names = [...new Set(this.runs.flatMap((run) => run.tasks.map((task) => task.name)))];
    const choices = el('datalist', { id: 'task-names' },
      ...names.slice(0, 500).map((name) => el('option', { value: name })));
    const arrows = el('input', { type: 'checkbox', checked: true,
      onchange: () => { this.arrows = arrows.checked; this.draw(); } });
    this.runBoxes = this.runs.map((run) => {
      const box = el('input', { type: 'checkbox', checked: this.shown.has(run.number),
        onchange: () => this.showRun(run.number, box.checked) });
      return { run, box };
    });
    const bar = el('div', { class: 'bar', role: 'toolbar', 'aria-label': 'Timeline' },
      rows.box, colors.box, el('label', {}, 'Find ', this.search), this.found, choices,
      el('label', {}, arrows, ' wakeups'),
      el('span', { class: 'buttons' },
        button('−', 'Zoom out (-)', () => this.zoom(2)),
        button('+', 'Zoom in (+)', () => this.zoom(0.5)),
        button('◀', 'Earlier (Left)', () => this.pan(-0.25)),
        button('▶', 'Later (Right)', () => this.pan(0.25)),
        button('All', 'The whole run (0)', () => this.setView(0, this.duration))));
    const which = this.runs.length < 2 ? null : el('fieldset', { class: 'runs' },
      el('legend', {}, 'Schedulers'),
      ...this.runBoxes.map(({ run, box }) => el('label', {}, box, ` ${run.spec}`)));
    this.output = el('output', { id: 'view', class: 'view' });
    this.legend = el('div', { class: 'legend' });
    this.overview = el('canvas', { class: 'overview', role: 'img', tabindex: 0,
      'aria-label': 'How many tasks were runnable over the whole run, and what is in view' });
    this.canvas = el('canvas', { role: 'img', id: 'timeline-canvas' });
    this.spacer = el('div', { class: 'spacer' });
    this.scroll = el('div', { class: 'scroll', tabindex: 0, id: 'timeline-keys',
      role: 'application',
      'aria-label': 'Timeline. Arrow keys move, plus and minus zoom, n and p go from slice to '
        + 'slice, question mark lists all keys.' }, this.canvas, this.spacer);
    this.live = el('div', { class: 'hidden', 'aria-live': 'polite' });
    this.focus = el('p', { class: 'focus' }, 'Point at a slice, or press n, to read about it.');
    this.keys = el('details', { class: 'keys' }, el('summary', {}, 'Keys and gestures'),
      this.keyTable());
    this.inView = el('details', { class: 'in-view', ontoggle: () => this.fillInView() },
      el('summary', {}, 'What is in view, as a table'), el('div', { class: 'wide' }));
    place.append(bar, ...(which ? [which] : []), this.note(), this.legend,
      el('div', { class: 'view-line' }, this.output), this.overview, this.scroll, this.focus,
      this.live, this.inView, this.keys);
  }

  /** Returns a note about merged slices. */
  note() {
    const thinned = this.runs.filter((run) => run.recorded.grain_ns > 0);
    const coarse = this.runs.some((run) => run.recorded.wait_unit_ns > 1);
    const texts = [];
    if (thinned.length > 0) {
      const counts = thinned.map((run) => `${run.spec} ${Lab.count(run.recorded.turns)}`);
      const grains = thinned.map((run) => run.recorded.grain_ns);
      const [least, most] = [Math.min(...grains), Math.max(...grains)].map(Lab.duration);
      texts.push(`There were more slices than a page holds: ${counts.join(', ')}. Slices on a CPU `
        + `that are together within ${least === most ? most : `${least} to ${most}`} are drawn as `
        + 'one: in the colour of the task with the most time, as far as its time is known, and '
        + 'the rest in grey. Rows of tasks show exact shares when zoomed out, and when zoomed in '
        + 'only their known time, without the waits of such slices. Longer slices are complete. '
        + 'Tables, shares, charts and longest waits are computed from all slices.');
    }
    if (coarse) texts.push('Waits of single slices are shown in whole microseconds.');
    return Lab.el('div', {}, ...texts.map((text) => Lab.el('p', { class: 'note thinned' }, text)));
  }

  keyTable() {
    const { el } = Lab;
    const rows = [
      ['+ −', 'zoom in and out (the wheel, or two fingers)'],
      ['← →', 'earlier, later (drag; with Shift: a tenth of that)'],
      ['↑ ↓', 'the row above, below'],
      ['n p', 'the next, the previous slice of the row'],
      ['Enter', 'zoom to the slice (or double-click)'],
      ['w', 'go to its waker'],
      ['Home End', 'the beginning, the end'],
      ['0', 'the whole run'],
      ['t c', 'rows of tasks or CPUs; the next colouring'],
      ['/', 'search for a task; Enter: its next slice'],
      ['Shift + drag', 'zoom to the marked part'],
      ['Alt + wheel', 'scroll rows'],
      ['Esc', 'deselect the slice'],
    ];
    return el('table', {}, ...rows.map(([keys, text]) => (
      el('tr', {}, el('th', { scope: 'row' }, keys), el('td', {}, text)))));
  }

  // ---- Contents

  run(number) {
    return this.runs.find((run) => run.number === number);
  }

  setRows(rows) {
    this.rows = rows === 'tasks' ? 'tasks' : 'cpus';
    this.rowsList.value = this.rows;
    this.layOut();
    this.moved();
  }

  setColoring(way) {
    this.coloring = Lab.coloring(Lab.COLORINGS[way] ? way : 'program', this.runs);
    this.colorsList.value = this.coloring.way;
    this.classify();
    this.fillLegend();
    this.layOut();
    this.moved();
  }

  setFind(text) {
    this.find = text.trim().toLowerCase();
    this.classify();
    this.layOut();
    this.moved();
  }

  showRun(number, shown) {
    if (shown) this.shown.add(number);
    else this.shown.delete(number);
    for (const { run, box } of this.runBoxes) box.checked = this.shown.has(run.number);
    this.layOut();
    this.moved();
  }

  /** Determines the category of every slice, by colouring and search. The categories of the
   *  colouring are followed by that of slices that do not match the search, which is pale, and
   *  that of merged slices. */
  classify() {
    const { coloring, find } = this;
    const pale = coloring.names.length;
    const mixed = pale + 1;
    this.classes = pale + 2;
    this.taskKind = (run, task) => (!this.matches.get(run.number)[task] ? pale
      : coloring.ofTask ? coloring.ofTask(run.tasks[task]) : mixed);
    let tasks = 0;
    this.kinds = new Map();
    this.matches = new Map();
    for (const run of this.runs) {
      const wanted = run.tasks.map((task) => find === ''
        || task.name.toLowerCase().includes(find) || task.key.toLowerCase() === find);
      if (find !== '') tasks = Math.max(tasks, wanted.filter(Boolean).length);
      const kinds = new Uint32Array(run.turns);
      for (let turn = 0; turn < run.turns; turn += 1) {
        kinds[turn] = !wanted[run.task[turn]] ? pale
          : run.several[turn] && !coloring.ofTask ? mixed : coloring.ofTurn(run, turn);
      }
      this.kinds.set(run.number, kinds);
      this.matches.set(run.number, wanted);
    }
    this.found.textContent = find === '' ? '' : tasks === 1 ? '1 task' : `${tasks} tasks`;
    if (this.lanes) this.lanes.forEach((lane) => lane.forget());
    this.laneCache = new Map();
  }

  fillLegend() {
    const { names, colors, way } = this.coloring;
    const most = 20;
    const entries = names.slice(0, most).map((name, at) => {
      const swatch = Lab.el('span', { class: 'swatch' });
      swatch.style.background = Lab.css(colors[at]);
      const findable = way === 'program' || way === 'task';
      return findable
        ? Lab.el('button', { type: 'button', title: 'Show only this', onclick: () => {
          this.search.value = this.search.value === name ? '' : name;
          this.setFind(this.search.value);
        } }, swatch, name)
        : Lab.el('span', {}, swatch, name);
    });
    if (names.length > most) entries.push(Lab.el('span', {}, `and ${names.length - most} more`));
    if (this.runs.some((run) => run.recorded.grain_ns > 0)) {
      const mixed = Lab.el('span', { class: 'swatch mixed' });
      entries.push(Lab.el('span', {}, mixed, 'several, drawn as one'));
    }
    const waiting = Lab.el('span', { class: 'swatch waiting' });
    entries.push(Lab.el('span', { class: 'of-tasks' }, waiting, 'waiting for a CPU'));
    this.legend.replaceChildren(...entries);
  }

  /** Determines the lanes and their positions. */
  layOut() {
    this.lanes = [];
    this.heads = [];
    const shown = this.runs.filter((run) => this.shown.has(run.number));
    const tasks = this.rows === 'tasks';
    this.legend.classList.toggle('tasks', tasks);
    let y = 0;
    for (const run of shown) {
      this.heads.push({ run, y });
      y += 24;
      const ids = [];
      if (tasks) {
        const wanted = this.matches.get(run.number);
        for (let task = 0; task < run.tasks.length; task += 1) {
          if (wanted[task] && run.byTask.first[task] < run.byTask.first[task + 1]) ids.push(task);
        }
      } else for (let cpu = 0; cpu < run.cpus; cpu += 1) ids.push(cpu);
      const few = ids.length * shown.length;
      const height = tasks ? 22 : few <= 6 ? 38 : few <= 16 ? 26 : 18;
      for (const id of ids) {
        const key = `${run.number} ${this.rows} ${id}`;
        let lane = this.laneCache.get(key);
        if (!lane) {
          lane = new Lab.Lane(run, tasks ? 'task' : 'cpu', id);
          this.laneCache.set(key, lane);
        }
        Object.assign(lane, { y, height });
        this.lanes.push(lane);
        y += height + 2;
      }
      y += 6;
    }
    this.height = y;
    this.lane = Math.min(this.lane, Math.max(0, this.lanes.length - 1));
    this.resize();
  }

  // ---- Positions

  static GUTTER = 96;

  static AXIS = 26;

  /** Determines widths and heights in CSS pixels, and the number of device pixels in one. */
  resize() {
    const width = this.scroll.clientWidth || 800;
    const room = Math.max(160, Math.round(window.innerHeight * 0.62));
    this.width = width;
    this.visible = Math.min(room, this.height + Lab.Timeline.AXIS);
    this.ratio = window.devicePixelRatio || 1;
    this.scroll.style.height = `${this.visible}px`;
    this.spacer.style.height = `${Math.max(0, this.height + Lab.Timeline.AXIS - this.visible)}px`;
    for (const [canvas, w, h] of [[this.canvas, width, this.visible], [this.overview, width, 34]]) {
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
      canvas.width = Math.round(w * this.ratio);
      canvas.height = Math.round(h * this.ratio);
    }
    this.draw();
  }

  x(time) {
    const { GUTTER } = Lab.Timeline;
    const { from, to } = this.view;
    return GUTTER + (time - from) / (to - from) * (this.width - GUTTER);
  }

  time(x) {
    const { GUTTER } = Lab.Timeline;
    const { from, to } = this.view;
    return from + (x - GUTTER) / (this.width - GUTTER) * (to - from);
  }

  /** Returns the present position of a lane on the canvas. */
  top(lane) {
    return lane.y - this.scrolled + Lab.Timeline.AXIS;
  }

  laneAt(y) {
    this.scrolled = this.scroll.scrollTop;
    return this.lanes.findIndex((lane) => {
      const top = this.top(lane);
      return y >= top && y < top + lane.height + 2;
    });
  }

  /** Returns the slice under a point: `{lane, turn}`, or null. A slice thinner than a pixel is
   *  found a little beside it, too. */
  turnAt(x, y) {
    if (x < Lab.Timeline.GUTTER || y < Lab.Timeline.AXIS) return null;
    const index = this.laneAt(y);
    if (index < 0) return null;
    const lane = this.lanes[index];
    for (const beside of [0, 1, -1, 2, -2, 3, -3]) {
      const turn = lane.at(this.time(x + beside));
      if (turn >= 0) return { index, lane, turn };
    }
    return { index, lane, turn: -1 };
  }

  // ---- Moving

  setView(from, to) {
    const least = 500;
    let span = Math.min(this.duration, Math.max(least, to - from));
    let start = (from + to) / 2 - span / 2;
    start = Math.max(0, Math.min(this.duration - span, start));
    if (!Number.isFinite(start)) [start, span] = [0, this.duration];
    this.view = { from: start, to: start + span };
    this.moved();
  }

  /** Changes the shown time by `factor`, around a moment (the middle; or the slice, if it is in
   *  view). */
  zoom(factor, around) {
    const { from, to } = this.view;
    let at = around;
    if (at === undefined) {
      at = (from + to) / 2;
      if (this.turn) {
        const { lane: { run }, turn } = this.turn;
        const middle = (run.start[turn] + run.end[turn]) / 2;
        if (middle >= from && middle <= to) at = middle;
      }
    }
    const span = Math.min(this.duration, Math.max(500, (to - from) * factor));
    const part = (at - from) / (to - from);
    this.setView(at - part * span, at + (1 - part) * span);
  }

  /** Moves by a part of what is shown. */
  pan(part) {
    const { from, to } = this.view;
    const by = part * (to - from);
    const clamped = Math.max(-from, Math.min(this.duration - to, by));
    this.setView(from + clamped, to + clamped);
  }

  /** Makes a slice visible: moves there if it is out of view, and scrolls to its lane. */
  reveal(lane, turn, zoomed) {
    const { run } = lane;
    const [start, end] = [run.start[turn], run.end[turn]];
    const { from, to } = this.view;
    if (zoomed) {
      const margin = Math.max(500, (end - start + run.wait[turn]) * 0.3);
      this.setView(start - run.wait[turn] - margin, end + margin);
    } else if (end < from || start > to) {
      const half = (to - from) / 2;
      this.setView((start + end) / 2 - half, (start + end) / 2 + half);
    }
    this.scrolled = this.scroll.scrollTop;
    const top = lane.y - this.scrolled;
    if (top < 0 || top + lane.height > this.visible - Lab.Timeline.AXIS) {
      this.scroll.scrollTop = Math.max(0, lane.y - 60);
    }
    this.draw();
  }

  /** Shows a moment of a run, and a task there. Called by tables and charts. */
  goTo(number, task, from, to, cpu) {
    if (!this.shown.has(number)) this.showRun(number, true);
    const margin = (to - from) * 0.25;
    this.setView(from - margin, to + margin);
    const turn = Lab.turnOfTask(this.run(number), task, to);
    const index = this.lanes.findIndex((lane) => lane.run.number === number
      && (lane.kind === 'cpu' ? lane.id === cpu : lane.id === task));
    if (index >= 0 && turn >= 0) this.pick(index, turn);
    document.getElementById('timeline').scrollIntoView({ block: 'start' });
    this.scroll.focus({ preventScroll: true });
  }

  moved() {
    const { from, to } = this.view;
    const step = (to - from) / 100;
    this.output.textContent = `${Lab.moment(from, step)} s to ${Lab.moment(to, step)} s `
      + `(${Lab.duration(to - from)})`;
    this.output.dataset.from = String(from);
    this.output.dataset.to = String(to);
    const lanes = this.lanes ? this.lanes.length : 0;
    const what = this.rows === 'tasks' ? 'tasks' : 'CPUs';
    this.canvas.setAttribute('aria-label', `Timeline: ${lanes} rows of ${what} from `
      + this.output.textContent);
    this.draw();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      this.fillInView();
      this.changed();
    }, 250);
  }

  // ---- Position as text, for links

  /** Returns the text for `restore`. */
  state() {
    const { from, to } = this.view;
    const parts = { t: `${Math.round(from)}-${Math.round(to)}` };
    if (this.rows !== 'cpus') parts.rows = this.rows;
    if (this.coloring.way !== 'program') parts.color = this.coloring.way;
    if (this.find !== '') parts.find = this.search.value.trim();
    const shown = [...this.shown].sort((a, b) => a - b);
    if (shown.join() !== this.runs.slice(0, 4).map((run) => run.number).join()) {
      parts.runs = shown.join('.');
    }
    if (this.turn) parts.turn = `${this.turn.lane.run.number}.${this.turn.turn}`;
    return parts;
  }

  restore(parts) {
    if (parts.runs) {
      const wanted = parts.runs.split('.').map(Number).filter((number) => this.run(number));
      if (wanted.length) this.shown = new Set(wanted);
      for (const { run, box } of this.runBoxes) box.checked = this.shown.has(run.number);
    }
    this.search.value = parts.find || '';
    this.find = this.search.value.trim().toLowerCase();
    this.rows = parts.rows === 'tasks' ? 'tasks' : 'cpus';
    this.rowsList.value = this.rows;
    this.setColoring(parts.color);
    const [number, turn] = (parts.turn || '').split('.').map(Number);
    const run = this.run(number);
    if (run && turn >= 0 && turn < run.turns) {
      const id = this.rows === 'cpus' ? run.cpu[turn] : run.task[turn];
      const index = this.lanes.findIndex((lane) => lane.run === run && lane.id === id);
      if (index >= 0) this.pick(index, turn);
    }
    const [from, to] = (parts.t || '').split('-').map(Number);
    if (to > from) this.setView(from, to);
  }

  // ---- Events

  watch() {
    const { canvas, scroll, overview } = this;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('wheel', (event) => {
      if (event.altKey) return;
      event.preventDefault();
      const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const [dx, dy] = [event.deltaX * scale, event.deltaY * scale];
      if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
        this.pan((event.shiftKey && !dx ? dy : dx) / this.width);
      } else {
        const [x] = point(event);
        this.zoom(Math.exp(Math.max(-300, Math.min(300, dy)) * 0.002),
          this.time(Math.max(x, Lab.Timeline.GUTTER)));
      }
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.pressed(event, point(event)));
    canvas.addEventListener('pointermove', (event) => this.pulled(event, point(event)));
    for (const name of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(name, (event) => this.released(event, point(event)));
    }
    canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      Lab.hideTip();
      this.draw();
    });
    canvas.addEventListener('dblclick', (event) => {
      const [x, y] = point(event);
      const hit = this.turnAt(x, y);
      if (hit && hit.turn >= 0) this.reveal(hit.lane, hit.turn, true);
      else this.zoom(0.25, this.time(x));
    });
    scroll.addEventListener('scroll', () => this.draw());
    scroll.addEventListener('keydown', (event) => this.key(event));
    const drag = (event) => {
      const box = overview.getBoundingClientRect();
      const { GUTTER } = Lab.Timeline;
      const at = (event.clientX - box.left - GUTTER) / (box.width - GUTTER) * this.duration;
      const half = (this.view.to - this.view.from) / 2;
      const middle = Math.max(half, Math.min(this.duration - half, at));
      this.setView(middle - half, middle + half);
    };
    overview.addEventListener('pointerdown', (event) => {
      overview.setPointerCapture(event.pointerId);
      drag(event);
    });
    overview.addEventListener('pointermove', (event) => {
      if (event.buttons) drag(event);
    });
    overview.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => {
      if (scroll.clientWidth !== this.width) this.resize();
    }).observe(scroll);
  }

  pressed(event, [x, y]) {
    this.scroll.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x, y });
    this.drag = { x, y, view: { ...this.view }, far: false, mark: event.shiftKey };
  }

  pulled(event, [x, y]) {
    if (!this.pointers.has(event.pointerId)) {
      this.point(x, y, event);
      return;
    }
    const before = [...this.pointers.values()];
    this.pointers.set(event.pointerId, { x, y });
    if (this.pointers.size === 2) {
      const after = [...this.pointers.values()];
      const spread = (list) => Math.max(10, Math.abs(list[0].x - list[1].x));
      const middle = (before[0].x + before[1].x) / 2;
      this.zoom(spread(before) / spread(after), this.time(middle));
      this.pan(-((after[0].x + after[1].x) / 2 - middle) / (this.width - Lab.Timeline.GUTTER));
      this.drag.far = true;
      return;
    }
    const { drag } = this;
    if (Math.abs(x - drag.x) > 3) drag.far = true;
    drag.now = x;
    if (drag.mark) {
      this.draw();
      return;
    }
    if (!drag.far) return;
    Lab.hideTip();
    const { from, to } = drag.view;
    const by = -(x - drag.x) / (this.width - Lab.Timeline.GUTTER) * (to - from);
    const clamped = Math.max(-from, Math.min(this.duration - to, by));
    this.setView(from + clamped, to + clamped);
  }

  released(event, [x, y]) {
    if (!this.pointers.delete(event.pointerId) || !this.drag) return;
    const { drag } = this;
    if (this.pointers.size > 0) return;
    this.drag = null;
    if (drag.mark && drag.far) {
      const ends = [this.time(drag.x), this.time(x)].sort((a, b) => a - b);
      this.setView(ends[0], ends[1]);
    } else if (!drag.far) {
      const hit = this.turnAt(x, y);
      if (hit && hit.turn >= 0) this.pick(hit.index, hit.turn);
      else this.forget();
    }
    this.draw();
  }

  point(x, y, event) {
    const hit = this.turnAt(x, y);
    this.hover = { x, hit };
    if (hit && hit.turn >= 0) {
      const lines = this.describe(hit.lane, hit.turn);
      Lab.showTip(this.tipOf(lines), event.clientX, event.clientY);
    } else if (hit) {
      const what = this.idleText(hit.lane, this.time(x));
      Lab.showTip([Lab.el('div', {}, what)], event.clientX, event.clientY);
    } else Lab.hideTip();
    this.draw();
  }

  /** Returns what a lane does at a moment at which it has no slice. */
  idleText(lane, time) {
    const { run } = lane;
    if (time > run.duration) return 'the run is over';
    if (lane.kind === 'cpu') return `${lane.name} is idle`;
    const next = Lab.firstWhere(0, lane.rows.length, (at) => run.start[lane.rows[at]] > time);
    const row = lane.rows[next];
    const waits = next < lane.rows.length && run.start[row] - run.wait[row] <= time;
    return `${lane.name} ${waits ? 'waits for a CPU' : 'sleeps, or does not exist'}`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 0.02 : 0.2;
    const acts = {
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      _: () => this.zoom(2),
      0: () => this.setView(0, this.duration),
      ArrowLeft: () => this.pan(-step),
      ArrowRight: () => this.pan(step),
      ArrowUp: () => this.toLane(this.lane - 1),
      ArrowDown: () => this.toLane(this.lane + 1),
      Home: () => this.pan(-Infinity),
      End: () => this.pan(Infinity),
      n: () => this.step(1),
      p: () => this.step(-1),
      Enter: () => this.turn && this.reveal(this.turn.lane, this.turn.turn, true),
      w: () => this.toWaker(),
      t: () => this.setRows(this.rows === 'tasks' ? 'cpus' : 'tasks'),
      c: () => {
        const ways = Object.keys(Lab.COLORINGS);
        this.setColoring(ways[(ways.indexOf(this.coloring.way) + 1) % ways.length]);
      },
      '/': () => this.search.focus(),
      '?': () => { this.keys.open = !this.keys.open; },
      Escape: () => this.forget(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  toLane(index) {
    if (this.lanes.length === 0) return;
    this.lane = Math.max(0, Math.min(this.lanes.length - 1, index));
    const lane = this.lanes[this.lane];
    const middle = this.turn ? this.turn.lane.run.start[this.turn.turn]
      : (this.view.from + this.view.to) / 2;
    const place = Lab.firstWhere(0, lane.rows.length, (at) => lane.run.end[lane.rows[at]] > middle);
    if (lane.rows.length) this.pick(this.lane, lane.rows[Math.min(place, lane.rows.length - 1)]);
  }

  /** Goes to the next slice of the lane, or the previous one. */
  step(by) {
    const lane = this.lanes[this.lane];
    if (!lane || lane.rows.length === 0) return;
    const { run } = lane;
    let place;
    if (this.turn && this.turn.lane === lane) {
      const start = run.start[this.turn.turn];
      place = Lab.firstWhere(0, lane.rows.length, (at) => run.start[lane.rows[at]] >= start) + by;
    } else {
      place = Lab.firstWhere(0, lane.rows.length, (at) => run.end[lane.rows[at]] > this.view.from);
    }
    this.pick(this.lane, lane.rows[Math.max(0, Math.min(lane.rows.length - 1, place))]);
  }

  /** Goes to the next slice that matches the search, after the selected one. */
  nextFound(back) {
    if (this.find === '') return;
    const after = this.turn ? this.turn.lane.run.start[this.turn.turn] : this.view.from - 1;
    let best = null;
    this.lanes.forEach((lane, index) => {
      const { run, rows } = lane;
      const wanted = this.matches.get(run.number);
      let place = Lab.firstWhere(0, rows.length, (at) => run.start[rows[at]] > after);
      if (back) {
        place = Lab.firstWhere(0, rows.length, (at) => run.start[rows[at]] >= after) - 1;
        while (place >= 0 && !wanted[run.task[rows[place]]]) place -= 1;
      } else while (place < rows.length && !wanted[run.task[rows[place]]]) place += 1;
      if (place < 0 || place >= rows.length) return;
      const start = run.start[rows[place]];
      if (!best || (back ? start > best.start : start < best.start)) {
        best = { start, index, turn: rows[place] };
      }
    });
    if (best) this.pick(best.index, best.turn);
  }

  toWaker() {
    if (!this.turn) return;
    const { run } = this.turn.lane;
    const { turn } = this.turn;
    if (run.came[turn] < 4) return;
    const waker = Lab.turnOfTask(run, run.came[turn] - 4, run.start[turn] - run.wait[turn]);
    if (waker < 0) return;
    const id = this.rows === 'cpus' ? run.cpu[waker] : run.task[waker];
    const index = this.lanes.findIndex((lane) => lane.run === run && lane.id === id);
    if (index >= 0) this.pick(index, waker);
  }

  /** Selects a slice, by a click or by the keyboard. */
  pick(index, turn) {
    const lane = this.lanes[index];
    this.lane = index;
    this.turn = { lane, turn };
    const lines = this.describe(lane, turn);
    const text = lines.map(([label, value]) => (label ? `${label}: ${value}` : value)).join('; ');
    this.live.textContent = text;
    this.focus.replaceChildren(...this.tipOf(lines));
    this.reveal(lane, turn, false);
    this.moved();
  }

  forget() {
    this.turn = null;
    this.live.textContent = '';
    this.focus.textContent = 'Point at a slice, or press n, to read about it.';
    Lab.hideTip();
    this.moved();
  }

  tipOf(lines) {
    return lines.map(([label, value]) => Lab.el('div', {},
      label ? Lab.el('b', {}, `${label} `) : null,
      label ? value : Lab.el('strong', {}, value)));
  }

  /** Describes a slice: pairs of label and text; the first has no label. */
  describe(lane, turn) {
    const { run } = lane;
    const name = (task) => (run.tasks[task] ? run.tasks[task].name : `task-${task}`);
    const rule = (number) => {
      const found = run.rules.get(number);
      return found ? `${found.name}: ${found.text}` : null;
    };
    const [start, end] = [run.start[turn], run.end[turn]];
    const time = `${Lab.moment(start, 1)} s to ${Lab.moment(end, 1)} s, `
      + Lab.duration(end - start);
    const task = run.tasks[run.task[turn]];
    const kind = task.group === '/' ? '' : `, group ${task.group}`;
    const nice = task.nice ? `, nice ${task.nice}` : task.priority ? `, prio ${task.priority}` : '';
    if (run.several[turn]) {
      return [
        [null, `${run.several[turn] + 1} slices of one or more tasks`],
        ['on', `CPU ${run.cpu[turn]}, ${run.spec}`],
        ['when', time],
        ['busy', Lab.percent(1 - run.idle[turn] / (end - start))],
        [`at least ${Lab.duration(run.own[turn])} of it`, task.name],
      ];
    }
    const lines = [
      [null, `${task.name} (${task.policy}${nice}${kind})`],
      ['on', `CPU ${run.cpu[turn]}, ${run.spec}`],
      ['when', time],
    ];
    const came = run.came[turn];
    const woken = came === 0 ? 'it had lost its CPU'
      : came === 1 ? (task.parent >= 0 ? `new, forked by ${name(task.parent)}` : 'new')
        : came === 2 ? 'woken by an interrupt (a timer or a device)'
          : came === 3 ? 'woken by the kernel' : `woken by ${name(came - 4)}`;
    const waited = run.wait[turn] > 0 ? `waited ${Lab.duration(run.wait[turn])}` : 'no wait';
    lines.push(['before', `${woken}; ${waited}`]);
    if (came > 0 && rule(run.placed[turn])) lines.push(['this CPU', rule(run.placed[turn])]);
    if (came > 0 && rule(run.preempts[turn])) lines.push(['preempting', rule(run.preempts[turn])]);
    if (rule(run.why[turn])) lines.push(['why in', rule(run.why[turn])]);
    let out = Lab.ENDS[run.left[turn]];
    const rows = run.byCpu.of(run.cpu[turn]);
    const place = Lab.firstWhere(0, rows.length, (at) => run.start[rows[at]] >= end);
    const next = rows[place];
    if (place < rows.length && run.start[next] === end && !run.several[next]) {
      out += `; then ${name(run.task[next])}`;
      if (rule(run.why[next])) out += ` (${run.rules.get(run.why[next]).name})`;
    } else if (run.left[turn] !== 5) out += '; then the CPU idled';
    lines.push(['why out', out]);
    return lines;
  }

  // ---- Drawing

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const began = performance.now();
      this.paint();
      this.took = performance.now() - began;
    });
  }

  ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  paint() {
    if (!this.lanes) return;
    const { canvas, ratio, width, visible } = this;
    // Read once per frame: reading it forces a layout of the page.
    this.scrolled = this.scroll.scrollTop;
    const { GUTTER, AXIS } = Lab.Timeline;
    const context = canvas.getContext('2d');
    const ink = { back: this.ink('--back'), text: this.ink('--text'), faint: this.ink('--faint'),
      line: this.ink('--line'), lane: this.ink('--lane'), accent: this.ink('--accent'),
      wait: this.ink('--wait') };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = ink.back;
    context.fillRect(0, 0, width, visible);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const lanes = this.lanes.filter((lane) => {
      const top = this.top(lane);
      return top + lane.height > AXIS && top < visible;
    });
    this.paintAxis(context, ink);
    this.paintLanes(context, ink, lanes);
    this.paintNames(context, ink, lanes);
    for (const head of this.heads) {
      const y = head.y - this.scrolled + AXIS;
      if (y < AXIS - 24 || y > visible) continue;
      context.font = '600 13px system-ui, sans-serif';
      context.fillStyle = ink.text;
      context.fillText(head.run.spec, 4, y + 13);
      const spec = context.measureText(head.run.spec).width;
      context.font = '12px system-ui, sans-serif';
      context.fillStyle = ink.faint;
      const { grain_ns: grain, turns } = head.run.recorded;
      const title = grain === 0 ? head.run.title
        : `${head.run.title}; ${Lab.count(turns)} slices drawn as ${Lab.count(head.run.turns)}`;
      context.fillText(title, 18 + spec, y + 13);
    }
    this.paintArrows(context, ink, lanes);
    this.paintTurn(context, ink);
    // The axis covers what is scrolled below it.
    context.fillStyle = ink.back;
    context.fillRect(0, 0, width, AXIS);
    this.paintLabels(context, ink);
    if (this.hover && this.hover.x > GUTTER) {
      context.strokeStyle = ink.faint;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(Math.round(this.hover.x) + 0.5, AXIS);
      context.lineTo(Math.round(this.hover.x) + 0.5, visible);
      context.stroke();
      context.setLineDash([]);
    }
    if (this.drag && this.drag.mark && this.drag.now !== undefined) {
      context.globalAlpha = 0.25;
      context.fillStyle = ink.accent;
      context.fillRect(this.drag.x, AXIS, this.drag.now - this.drag.x, visible);
      context.globalAlpha = 1;
    }
    this.paintOverview(ink);
    Lab.Lane.tidy(this.laneCache.values(), lanes);
  }

  ticks() {
    const { from, to } = this.view;
    const step = Lab.roundStep((to - from) / Math.max(2, (this.width - Lab.Timeline.GUTTER) / 120));
    const list = [];
    for (let at = Math.ceil(from / step) * step; at <= to + step / 1e6; at += step) list.push(at);
    return { step, list };
  }

  paintAxis(context, ink) {
    context.strokeStyle = ink.line;
    context.lineWidth = 1;
    context.beginPath();
    for (const at of this.ticks().list) {
      const x = Math.round(this.x(at)) + 0.5;
      context.moveTo(x, Lab.Timeline.AXIS - 5);
      context.lineTo(x, this.visible);
    }
    context.stroke();
  }

  paintLabels(context, ink) {
    const { step, list } = this.ticks();
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = ink.faint;
    context.textAlign = 'center';
    for (const at of list) {
      const text = `${Lab.moment(at, step)} s`;
      const half = context.measureText(text).width / 2;
      const x = Math.min(this.width - half - 2, Math.max(Lab.Timeline.GUTTER + half, this.x(at)));
      context.fillText(text, x, 11);
    }
    context.textAlign = 'left';
    context.strokeStyle = ink.line;
    context.beginPath();
    context.moveTo(Lab.Timeline.GUTTER, Lab.Timeline.AXIS - 0.5);
    context.lineTo(this.width, Lab.Timeline.AXIS - 0.5);
    context.stroke();
  }

  /** Paints some rows of pixels for the slices of each lane, and one for waits; they are stretched
   *  to the lanes. */
  paintLanes(context, ink, lanes) {
    const { GUTTER } = Lab.Timeline;
    const columns = Math.max(1, Math.round((this.width - GUTTER) * this.ratio));
    if (lanes.length === 0) return;
    const tasks = this.rows === 'tasks';
    const cells = Lab.CELLS[tasks ? 'task' : 'cpu'];
    const each = cells + (tasks ? 1 : 0);
    const { from, to } = this.view;
    const rows = lanes.length * each;
    if (!this.pixels || this.pixels.length !== columns * rows) {
      this.pixels = new Uint32Array(columns * rows);
    }
    const { pixels } = this;
    const lane0 = Lab.rgb(ink.lane);
    const pale = Lab.mixed(Lab.rgb(ink.faint), lane0, 0.28);
    // The colour of each category, after that of an idle CPU.
    const all = [lane0, ...this.coloring.colors, pale, Lab.MIXED];
    const colors = Uint32Array.from(all, Lab.packed);
    const wait = Lab.rgb(ink.wait);
    const shades = Uint32Array.from({ length: 33 }, (_, step) => (
      Lab.packed(Lab.mixed(wait, lane0, 0.3 + 0.7 * step / 32))));
    const perColumn = (to - from) / columns;
    // During a search, matches are visible however small they are.
    const rare = this.find === '' ? 0 : this.classes - 2;
    lanes.forEach((lane, number) => {
      const kinds = this.kinds.get(lane.run.number);
      const own = tasks ? this.taskKind(lane.run, lane.id) : 0;
      const { who } = lane.columns(from, to, columns, kinds, this.classes, rare, false, own);
      const base = number * each * columns;
      for (let cell = 0; cell < cells; cell += 1) {
        let at = base + (cells - 1 - cell) * columns;
        for (let of = cell; of < who.length; of += cells, at += 1) pixels[at] = colors[who[of]];
      }
      if (!tasks) return;
      const { busy } = lane.columns(from, to, columns, kinds, this.classes, rare, true, 0);
      for (let column = 0; column < columns; column += 1) {
        const part = Math.min(1, busy[column] / perColumn);
        pixels[base + cells * columns + column] = part > 0 ? shades[Math.round(part * 32)]
          : colors[0];
      }
    });
    if (!this.sheet) this.sheet = document.createElement('canvas');
    if (this.sheet.width !== columns || this.sheet.height < rows) {
      this.sheet.width = columns;
      this.sheet.height = rows;
    }
    const bytes = new Uint8ClampedArray(pixels.buffer);
    this.sheet.getContext('2d').putImageData(new ImageData(bytes, columns, rows), 0, 0);
    context.imageSmoothingEnabled = false;
    const room = this.width - GUTTER;
    lanes.forEach((lane, number) => {
      const top = this.top(lane);
      const first = number * each;
      const upper = tasks ? Math.round(lane.height * 0.66) : lane.height;
      context.drawImage(this.sheet, 0, first, columns, cells, GUTTER, top, room, upper);
      if (tasks) {
        context.drawImage(this.sheet, 0, first + cells, columns, 1, GUTTER, top + upper, room,
          lane.height - upper);
      }
    });
  }

  /** Paints names of lanes, and names of slices with borders between them where there is room. */
  paintNames(context, ink, lanes) {
    const { GUTTER } = Lab.Timeline;
    const { from, to } = this.view;
    context.font = '12px system-ui, sans-serif';
    for (const lane of lanes) {
      const top = this.top(lane);
      context.save();
      context.beginPath();
      context.rect(0, top, GUTTER - 6, lane.height);
      context.clip();
      context.fillStyle = this.lanes[this.lane] === lane ? ink.accent : ink.text;
      context.fillText(lane.name, 8, top + lane.height / 2 + 1);
      context.restore();
      const [first, last] = lane.within(from, to);
      if (last - first > (this.width - GUTTER) / 7) continue;
      this.paintTurns(context, ink, lane, top, first, last);
    }
  }

  paintTurns(context, ink, lane, top, first, last) {
    const { GUTTER } = Lab.Timeline;
    const { run } = lane;
    const kinds = this.kinds.get(run.number);
    const height = lane.kind === 'task' ? Math.round(lane.height * 0.66) : lane.height;
    for (let place = first; place < last; place += 1) {
      const turn = lane.rows[place];
      const left = Math.max(GUTTER, this.x(run.start[turn]));
      const right = Math.min(this.width, this.x(run.end[turn]));
      if (right - left < 3) continue;
      context.fillStyle = ink.back;
      context.fillRect(right - 0.75, top, 0.75, height);
      const color = this.coloring.colors[kinds[turn]];
      const text = run.several[turn] ? `×${run.several[turn] + 1}`
        : run.tasks[run.task[turn]].name;
      if (right - left < 24 || height < 13) continue;
      const room = Math.floor((right - left - 6) / 6.2);
      const shown = text.length > room ? `${text.slice(0, Math.max(1, room - 1))}…` : text;
      context.fillStyle = run.several[turn] ? ink.text : color ? Lab.inkOn(color) : ink.faint;
      context.fillText(shown, left + 4, top + height / 2 + 1, right - left - 5);
    }
  }

  /** Paints wakeups, from the waker to the woken task. All of them are shown where few slices are
   *  in view; that of the selected slice is always shown. */
  paintArrows(context, ink, lanes) {
    const { from, to } = this.view;
    const looked = [this.turn, this.hover && this.hover.hit && this.hover.hit.turn >= 0
      ? this.hover.hit : null].filter(Boolean);
    for (const { lane, turn } of looked) this.arrow(context, ink, lane, turn, 1);
    if (!this.arrows) return;
    let count = 0;
    const parts = lanes.map((lane) => lane.within(from, to));
    for (const [first, last] of parts) count += last - first;
    if (count > 400) return;
    lanes.forEach((lane, number) => {
      const [first, last] = parts[number];
      for (let place = first; place < last; place += 1) {
        this.arrow(context, ink, lane, lane.rows[place], 0.55);
      }
    });
  }

  arrow(context, ink, lane, turn, strength) {
    const { GUTTER, AXIS } = Lab.Timeline;
    const { run } = lane;
    const came = run.came[turn];
    if (came < 2 || run.several[turn]) return;
    const woken = run.start[turn] - run.wait[turn];
    const top = this.top(lane);
    // In rows of tasks the wakeup is when the task became runnable; on a CPU, when it gets one.
    const toX = this.x(lane.kind === 'task' ? woken : run.start[turn]);
    const fromX = this.x(woken);
    if (toX < GUTTER || toX > this.width || fromX < GUTTER) return;
    const toY = top + 1;
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, this.width - GUTTER, this.visible - AXIS);
    context.clip();
    context.globalAlpha = strength;
    context.strokeStyle = ink.text;
    context.fillStyle = ink.text;
    context.lineWidth = 1.25;
    let fromY = top - 7;
    if (came >= 4) {
      const waker = Lab.turnOfTask(run, came - 4, woken);
      const id = waker < 0 ? -1 : lane.kind === 'task' ? came - 4 : run.cpu[waker];
      const source = this.lanes.find((one) => one.run === run && one.id === id);
      if (source && source !== lane) {
        const sourceTop = this.top(source);
        fromY = sourceTop < top ? sourceTop + source.height * 0.66 : sourceTop + 2;
      }
    }
    const down = fromY <= toY;
    const tip = down ? toY : top + lane.height - 1;
    context.beginPath();
    context.moveTo(fromX, fromY);
    const bend = (tip - fromY) * 0.5;
    context.bezierCurveTo(fromX, fromY + bend, toX, tip - bend, toX, tip);
    context.stroke();
    context.beginPath();
    context.moveTo(toX, tip + (down ? 4 : -4));
    context.lineTo(toX - 3.5, tip - (down ? 2 : -2));
    context.lineTo(toX + 3.5, tip - (down ? 2 : -2));
    context.fill();
    if (came >= 4) {
      context.beginPath();
      context.arc(fromX, fromY, 2, 0, 7);
      context.fill();
    }
    context.restore();
  }

  /** Paints a frame around the selected slice, and a line for its wait. */
  paintTurn(context, ink) {
    if (!this.turn) return;
    const { GUTTER } = Lab.Timeline;
    const { lane, turn } = this.turn;
    if (!this.lanes.includes(lane)) return;
    const { run } = lane;
    const top = this.top(lane);
    const left = Math.max(GUTTER, this.x(run.start[turn]));
    const right = Math.min(this.width, Math.max(left + 3, this.x(run.end[turn])));
    if (right < GUTTER || left > this.width) return;
    context.strokeStyle = ink.back;
    context.lineWidth = 4;
    context.strokeRect(left - 1, top - 1, right - left + 2, lane.height + 2);
    context.strokeStyle = ink.accent;
    context.lineWidth = 2;
    context.strokeRect(left - 1, top - 1, right - left + 2, lane.height + 2);
    const since = Math.max(GUTTER, this.x(run.start[turn] - run.wait[turn]));
    if (run.wait[turn] > 0 && since < left - 2) {
      context.strokeStyle = ink.wait;
      context.lineWidth = 3;
      context.beginPath();
      context.moveTo(since, top + lane.height + 0.5);
      context.lineTo(left, top + lane.height + 0.5);
      context.stroke();
    }
  }

  /** Paints the number of runnable tasks over the whole run, and the part that is shown. */
  paintOverview(ink) {
    const { GUTTER } = Lab.Timeline;
    const context = this.overview.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = ink.back;
    context.fillRect(0, 0, this.width, 34);
    const room = this.width - GUTTER;
    context.fillStyle = ink.lane;
    context.fillRect(GUTTER, 2, room, 30);
    const runs = this.runs.filter((run) => this.shown.has(run.number));
    const height = 30 / Math.max(1, runs.length);
    runs.forEach((run, number) => {
      const loads = Lab.loadOf(run);
      const most = loads.reduce((a, b) => Math.max(a, b), 1);
      context.fillStyle = ink.faint;
      const bottom = 2 + (number + 1) * height;
      const { width_ns: width } = run.recorded;
      for (let bucket = 0; bucket < loads.length; bucket += 1) {
        const from = GUTTER + bucket * width / this.duration * room;
        const to = Math.min(this.width, GUTTER + (bucket + 1) * width / this.duration * room);
        const tall = loads[bucket] / most * (height - 1.5);
        context.fillRect(from, bottom - tall, to - from + 0.3, tall);
      }
    });
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = ink.faint;
    context.fillText('load', 8, 17);
    const left = GUTTER + this.view.from / this.duration * room;
    const right = GUTTER + this.view.to / this.duration * room;
    context.globalAlpha = 0.22;
    context.fillStyle = ink.accent;
    context.fillRect(left, 1, Math.max(2, right - left), 32);
    context.globalAlpha = 1;
    context.strokeStyle = ink.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left, 1, Math.max(2, right - left), 32);
  }

  // ---- Table of the view

  /** Lists CPU time in the view by task. */
  fillInView() {
    if (!this.inView.open) return;
    const { from, to } = this.view;
    const { el } = Lab;
    const tables = this.runs.filter((run) => this.shown.has(run.number)).map((run) => {
      const sums = new Map();
      for (let cpu = 0; cpu < run.cpus; cpu += 1) {
        for (const [task, ns] of Lab.whoRan(run, cpu, from, to)) {
          sums.set(task, (sums.get(task) || 0) + ns);
        }
      }
      const all = [...sums].sort((a, b) => b[1] - a[1]);
      const room = (Math.min(to, run.duration) - from) * run.cpus;
      const about = run.recorded.grain_ns ? ' (approximate: slices are merged)' : '';
      return el('table', { class: 'figures' }, el('caption', {}, `${run.spec}${about}`),
        el('thead', {}, el('tr', {}, ...['task', 'CPU time', 'of the machine'].map((text) => (
          el('th', { scope: 'col' }, text))))),
        el('tbody', {}, ...all.slice(0, 40).map(([task, ns]) => el('tr', {},
          el('th', { scope: 'row' }, run.tasks[task].name), el('td', {}, Lab.duration(ns)),
          el('td', {}, Lab.percent(ns / room))))));
    });
    this.inView.lastElementChild.replaceChildren(...tables);
  }
};
