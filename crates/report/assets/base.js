'use strict';
// Common parts of all scripts of the page: the one global name, elements, and the format of
// numbers.

const Lab = {};

/** Creates an element. `attributes`: `class`, `on<event>` functions, others as they are; children
 *  are elements or text. Text is never parsed as markup. */
Lab.el = function (tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

/** Returns the first index in `from..to` for which `holds` is true; `to` if there is none. `holds`
 *  must be false up to there and true from there on. */
Lab.firstWhere = function (from, to, holds) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
};

/** Formats a duration with three digits: `999 ns`, `1.50 µs`, `12.3 ms`, `250 s`. */
Lab.duration = function (ns) {
  const sign = ns < 0 ? '-' : '';
  ns = Math.abs(ns);
  if (ns < 999.5) return `${sign}${Math.round(ns)} ns`;
  for (const [unit, size] of [['µs', 1e3], ['ms', 1e6], ['s', 1e9]]) {
    const value = ns / size;
    if (value < 999.5 || unit === 's') {
      const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
      return `${sign}${value.toFixed(digits)} ${unit}`;
    }
  }
};

/** Formats a moment, in seconds, with as many decimals as steps of `stepNs` need. */
Lab.moment = function (ns, stepNs) {
  const decimals = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(stepNs || 1) + 1e-9)));
  // Computed from the whole number of ns, to avoid needless rounding.
  const whole = Math.round(ns);
  const seconds = Math.floor(whole / 1e9);
  const rest = String(whole - seconds * 1e9).padStart(9, '0').slice(0, decimals);
  const groups = rest.match(/.{1,3}/g) || [];
  return `${seconds}${groups.length ? '.' + groups.join('\u202f') : ''}`;
};

/** Formats a count with separated thousands. */
Lab.count = function (value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
};

/** Formats a part of the whole as a percentage. */
Lab.percent = function (part) {
  return `${(100 * part).toFixed(part < 0.0995 ? 2 : 1)} %`;
};

/** Returns 1, 2 or 5 times a power of ten, not below `least`. */
Lab.roundStep = function (least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
};

/** Shows `lines` near a point of the window, so that they fit. */
Lab.showTip = function (lines, x, y) {
  const tip = document.getElementById('tip');
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const width = tip.offsetWidth;
  const height = tip.offsetHeight;
  const left = x + 16 + width > window.innerWidth ? x - 12 - width : x + 16;
  const top = y + 18 + height > window.innerHeight ? y - 12 - height : y + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
};

Lab.hideTip = function () {
  document.getElementById('tip').hidden = true;
};
