'use strict';
// Table of the longest waits, with the tasks that had the CPU in the meantime, and the rules by
// which other tasks were picked.

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
  /** Tasks that had the CPU: from the explanation of the wait, or as far as slices show it. */
  const meanwhile = (run, wait) => {
    const { task, from, to, cpu } = wait;
    const about = !wait.meanwhile && run.recorded.grain_ns > 0;
    const ran = wait.meanwhile || Lab.whoRan(run, cpu, from, to).filter(([who]) => who !== task);
    const limits = (wait.throttled || []).map(([group, ns]) => (
      `throttled by the limit of ${group} ${Lab.duration(ns)}`));
    const texts = limits.concat(ran.slice(0, 4).map(([who, ns]) => (
      `${who < 0 ? 'idle' : name(run, who)} ${Lab.duration(ns)}`)));
    if (ran.length > 4) texts.push(`${ran.length - 4} others`);
    const rest = to - from - ran.reduce((sum, [, ns]) => sum + ns, 0);
    if (!wait.meanwhile && rest > 0.005 * (to - from)) texts.push(`idle ${Lab.duration(rest)}`);
    return (about ? 'about: ' : '') + texts.join(', ');
  };
  /** Rules by which others were picked; each shows its definition on hover. */
  const lost = (run, wait) => wait.lost.flatMap(([number, times], at) => {
    const rule = run.rules.get(number) || { name: `rule ${number}`, text: '' };
    const term = el('abbr', { title: rule.text }, rule.name);
    return [at ? ', ' : '', el('span', { class: 'piece' }, term, times > 1 ? ` ×${times}` : '')];
  });
  // Without recorded grounds of decisions there is no column for rules.
  const heard = runs.some((run) => run.recorded.waits.some((wait) => wait.lost.length > 0));
  const fill = (number) => {
    const chosen = runs.filter((run) => number === '' || run.number === Number(number));
    const waits = chosen.flatMap((run) => run.recorded.waits.map((wait) => ({ run, wait })));
    waits.sort((a, b) => (b.wait.to - b.wait.from) - (a.wait.to - a.wait.from));
    body.replaceChildren(...waits.slice(0, 25).map(({ run, wait }) => {
      const { task, from, to, cpu, came, open } = wait;
      const go = () => timeline.goTo(run.number, task, from, to, cpu);
      return el('tr', {},
        el('td', {}, el('button', { type: 'button', class: 'link', onclick: go,
          title: 'Show it in the timeline' }, Lab.duration(to - from))),
        el('th', { scope: 'row' }, name(run, task)),
        el('td', { class: 'text' }, run.spec),
        el('td', {}, `${Lab.moment(from, 1e3)} s`),
        el('td', {}, String(cpu)),
        el('td', { class: 'text' }, why(run, came) + (open ? '; got no CPU before the end' : '')),
        el('td', { class: 'text' }, meanwhile(run, wait)),
        heard ? el('td', { class: 'text' }, ...lost(run, wait)) : null);
    }));
  };
  const heads = { wait: '', task: 'text', scheduler: 'text', from: '', CPU: '',
    'why it was runnable': 'text', 'tasks on that CPU during the wait': 'text',
    ...(heard ? { 'others were picked by': 'text' } : {}) };
  place.append(
    runs.length < 2 ? '' : el('div', { class: 'bar' }, el('label', {}, 'Of ', list)),
    el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Longest waits' },
      el('table', { class: 'figures waits' },
        el('thead', {}, el('tr', {}, ...Object.entries(heads).map(([text, kind]) => (
          el('th', { scope: 'col', class: kind }, text))))),
        body)));
  fill('');
};
