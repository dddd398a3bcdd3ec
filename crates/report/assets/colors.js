'use strict';
// Colours of tasks, groups and states. The base is the palette of Okabe and Ito, with some of
// Tol's, which colour-blind readers can distinguish.

Lab.PALETTE = [
  '#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8f7fd6', '#b5a70f',
  '#117733', '#882255', '#44aa99', '#aa7744', '#6699cc', '#dd7788',
];

Lab.rgb = function (hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
};

/** Returns a colour as canvases store it: one number, alpha in the highest byte. */
Lab.packed = function ([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
};

/** Mixes `part` of `a` with the rest of `b`. */
Lab.mixed = function (a, b, part) {
  return a.map((value, at) => Math.round(value * part + b[at] * (1 - part)));
};

Lab.css = ([red, green, blue]) => `rgb(${red},${green},${blue})`;

/** Returns black or white, whichever is more legible on the colour. */
Lab.inkOn = function ([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? '#000' : '#fff';
};

/** Numbers the names in all runs, so that a name has the same colour everywhere. */
Lab.numberNames = function (runs, nameOf) {
  const numbers = new Map();
  for (const run of runs) {
    for (const task of run.tasks) {
      const name = nameOf(task);
      if (!numbers.has(name)) numbers.set(name, numbers.size);
    }
  }
  return numbers;
};

Lab.ENDS = ['was preempted or yielded', 'went to sleep', 'went to sleep, waiting for a device',
  'was stopped', 'ended', 'ran to the end of the run'];
const END_COLORS = ['#d55e00', '#56b4e9', '#0072b2', '#b5a70f', '#882255', '#999999'];
const WAIT_STEPS = [0, 1e4, 1e5, 1e6, 1e7, 1e8];
const WAIT_NAMES = ['no wait', 'up to 10 µs', 'up to 100 µs', 'up to 1 ms', 'up to 10 ms',
  'up to 100 ms', 'longer'];
const WAIT_COLORS = ['#9aa7b5', '#7fb7d6', '#3f8fc4', '#e6b84a', '#e08a1e', '#d5501e', '#8e1b4b'];
/** Time of several tasks whose shares are unknown. */
Lab.MIXED = Lab.rgb('#8a8f98');

/** Ways of colouring. A way has names and colours of its categories, and the category of a slice.
 *  */
Lab.COLORINGS = {
  program: 'program', task: 'task', group: 'group', end: 'how the slice ended',
  wait: 'wait before it',
};

Lab.coloring = function (way, runs) {
  const programs = Lab.numberNames(runs, (task) => task.key);
  const ofProgram = (key) => {
    const number = programs.get(key);
    const base = Lab.rgb(Lab.PALETTE[number % Lab.PALETTE.length]);
    const round = Math.floor(number / Lab.PALETTE.length);
    return round === 0 ? base : Lab.mixed(base, round % 2 ? [0, 0, 0] : [255, 255, 255], 0.65);
  };
  if (way === 'end' || way === 'wait') {
    const names = way === 'end' ? Lab.ENDS : WAIT_NAMES;
    const colors = (way === 'end' ? END_COLORS : WAIT_COLORS).map(Lab.rgb);
    const step = (wait) => {
      let at = 0;
      while (at < WAIT_STEPS.length && wait > WAIT_STEPS[at]) at += 1;
      return at;
    };
    return {
      way,
      names,
      colors,
      ofTurn: (run, turn) => (way === 'end' ? run.left[turn] : step(run.wait[turn])),
      ofTask: null,
    };
  }
  const nameOf = { program: (task) => task.key, group: (task) => task.group,
    task: (task) => task.name }[way];
  const numbers = Lab.numberNames(runs, nameOf);
  const names = [...numbers.keys()];
  let colors;
  if (way === 'task') {
    // Tasks of one program are shades of its colour.
    const seen = new Map();
    colors = new Array(names.length);
    for (const run of runs) {
      for (const task of run.tasks) {
        const number = numbers.get(task.name);
        if (colors[number]) continue;
        const nth = seen.get(task.key) || 0;
        seen.set(task.key, nth + 1);
        const shade = [1, 0.72, 0.52, 0.85, 0.62][nth % 5];
        const to = nth % 2 ? [255, 255, 255] : [0, 0, 0];
        colors[number] = Lab.mixed(ofProgram(task.key), to, shade);
      }
    }
  } else if (way === 'program') {
    colors = names.map(ofProgram);
  } else {
    colors = names.map((_, at) => Lab.rgb(Lab.PALETTE[at % Lab.PALETTE.length]));
  }
  const ofTask = (task) => numbers.get(nameOf(task));
  const classes = runs.map((run) => Uint32Array.from(run.tasks, ofTask));
  return { way, names, colors, ofTask, ofTurn: (run, turn) => classes[run.number][run.task[turn]] };
};
