'use strict';
// The longest waits as a table, with who had the CPU meanwhile.

Lab.waitsTable = function (place, runs, timeline) {
  const { el } = Lab;
  const body = el('tbody');
  const list = el('select', { onchange: () => fill(list.value) },
    el('option', { value: '' }, 'all schedulers'),
    ...runs.map((run) => el('option', { value: run.number }, run.spec)));
  const name = (run, task) => (run.tasks[task] ? run.tasks[task].name : `task-${task}`);
  const why = (run, came) => (came === 0 ? 'lost its CPU' : came === 1 ? 'new'
    : came === 2 ? 'woken by an interrupt' : came === 3 ? 'woken by the kernel'
      : `woken by ${name(run, came - 4)}`);
  const meanwhile = (run, [task, from, to, cpu]) => {
    const ran = Lab.whoRan(run, cpu, from, to).filter(([who]) => who !== task);
    const all = ran.reduce((sum, [, ns]) => sum + ns, 0);
    const texts = ran.slice(0, 4).map(([who, ns]) => `${name(run, who)} ${Lab.duration(ns)}`);
    if (ran.length > 4) texts.push(`${ran.length - 4} others`);
    if (to - from - all > 0.005 * (to - from)) texts.push(`idle ${Lab.duration(to - from - all)}`);
    return (run.recorded.grain_ns ? 'about: ' : '') + texts.join(', ');
  };
  const fill = (number) => {
    const chosen = runs.filter((run) => number === '' || run.number === Number(number));
    const waits = chosen.flatMap((run) => run.recorded.waits.map((wait) => ({ run, wait })));
    waits.sort((a, b) => (b.wait[2] - b.wait[1]) - (a.wait[2] - a.wait[1]));
    body.replaceChildren(...waits.slice(0, 25).map(({ run, wait }) => {
      const [task, from, to, cpu, came, open] = wait;
      const go = () => timeline.goTo(run.number, task, from, to, cpu);
      return el('tr', {},
        el('td', {}, el('button', { type: 'button', class: 'link', onclick: go,
          title: 'Show it in the timeline' }, Lab.duration(to - from))),
        el('th', { scope: 'row' }, name(run, task)),
        el('td', { class: 'text' }, run.spec),
        el('td', {}, `${Lab.moment(from, 1e3)} s`),
        el('td', {}, String(cpu)),
        el('td', { class: 'text' }, why(run, came) + (open ? '; got no CPU in time' : '')),
        el('td', { class: 'text' }, meanwhile(run, wait)));
    }));
  };
  const heads = { wait: '', task: 'text', scheduler: 'text', from: '', CPU: '',
    'why it was runnable': 'text', 'who had that CPU meanwhile': 'text' };
  place.append(
    runs.length < 2 ? '' : el('div', { class: 'bar' }, el('label', {}, 'Of ', list)),
    el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Longest waits' },
      el('table', { class: 'figures waits' },
        el('thead', {}, el('tr', {}, ...Object.entries(heads).map(([text, kind]) => (
          el('th', { scope: 'col', class: kind }, text))))),
        body)));
  fill('');
};
