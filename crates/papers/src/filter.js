'use strict';
// Shows the demands that a reader selects by verdict, experiment, or words. The selection is part of
// the address, so that links can refer to it.

(() => {
  const form = document.getElementById('filter');
  if (!form) return;
  const words = document.getElementById('filter-words');
  const experiment = document.getElementById('filter-experiment');
  const told = document.getElementById('filter-shown');
  const boxes = [...form.querySelectorAll('[name=verdict]')];
  const sections = [...document.querySelectorAll('section.experiment')].map((section) => ({
    section,
    heading: section.querySelector('h2').textContent.toLowerCase(),
    rows: [...section.querySelectorAll('.demands tbody tr')].map((row) => ({
      row, verdict: row.dataset.verdict, text: row.textContent.toLowerCase(),
    })),
    line: document.querySelector(`.overview tr[data-id="${CSS.escape(section.id)}"]`),
  }));
  const all = sections.reduce((sum, { rows }) => sum + rows.length, 0);

  /** What stands in the address: none if everything is shown. */
  const hash = (verdicts) => {
    const parts = {};
    if (words.value.trim()) parts.find = words.value.trim();
    if (experiment.value) parts.in = experiment.value;
    if (verdicts.length) parts.verdicts = verdicts.join('.');
    const text = new URLSearchParams(parts).toString();
    return text ? `#${text}` : '';
  };

  const show = (write) => {
    const wanted = words.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = boxes.filter((box) => box.checked).map((box) => box.value);
    let shown = 0;
    const some = wanted.length + verdicts.length > 0 || experiment.value !== '';
    for (const { section, heading, rows, line } of sections) {
      let here = 0;
      for (const { row, verdict, text } of rows) {
        const fits = (experiment.value === '' || experiment.value === section.id)
          && (verdicts.length === 0 || verdicts.includes(verdict))
          && wanted.every((word) => text.includes(word) || heading.includes(word));
        row.hidden = !fits;
        if (fits) here += 1;
      }
      section.hidden = some && here === 0;
      section.classList.toggle('some', some);
      if (line) line.hidden = section.hidden;
      shown += here;
    }
    for (const part of document.querySelectorAll('#missed, #forgotten, #contradictions')) {
      part.hidden = some;
    }
    told.textContent = `${shown} of ${all} demands`;
    if (!write) return;
    try {
      const { pathname, search } = window.location;
      window.history.replaceState(null, '', hash(verdicts) || pathname + search);
    } catch (error) {
      // Some browsers limit how often this is permitted for a file; the next call is sufficient.
    }
  };

  /** A hash without `=` is that of a section. */
  const read = () => {
    const text = window.location.hash.slice(1);
    if (!text.includes('=')) return;
    const parts = Object.fromEntries(new URLSearchParams(text));
    words.value = parts.find || '';
    experiment.value = parts.in || '';
    const verdicts = (parts.verdicts || '').split('.');
    for (const box of boxes) box.checked = verdicts.includes(box.value);
    show(false);
  };

  /** A link to a section that is hidden shows everything. */
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    const target = link && document.getElementById(link.getAttribute('href').slice(1));
    if (!target || !target.closest('[hidden]')) return;
    form.reset();
    show(false);
  });
  form.addEventListener('input', () => show(true));
  form.addEventListener('reset', () => setTimeout(() => show(true), 0));
  form.addEventListener('submit', (event) => event.preventDefault());
  window.addEventListener('hashchange', read);
  form.hidden = false;
  show(false);
  read();
  document.body.dataset.ready = 'true';
})();
