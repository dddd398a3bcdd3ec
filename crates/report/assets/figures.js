'use strict';
// Figures of a benchmark: a list selects the one that is shown.

Lab.figures = function () {
  const bar = document.getElementById('figure-choice');
  if (!bar) return;
  const list = document.getElementById('figure');
  const show = () => {
    for (const part of document.querySelectorAll('.figure-of')) {
      part.hidden = part.dataset.figure !== list.value;
    }
  };
  list.addEventListener('change', show);
  bar.hidden = false;
  show();
};
