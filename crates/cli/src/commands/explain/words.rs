//! An explanation in words and tables.

use crate::terminal::counted;
use crate::{Failure, escape};
use schedlab_core::platform::Throttling;
use schedlab_core::{Account, Candidate, CpuId, GroupId, Question, Rule, TaskId, Waker, Who};
use schedlab_lab::explain::{
    CpuMoment, LostPick, Margin, Moment, Names, NiceThatWins, Parting, PartingSide, Step,
    TaskActivity, ThrottledMoment, ThrottledWait, TimedStep, Wait, Wakeup, margins,
};
use schedlab_report::format::{duration, signed_duration};
use schedlab_report::{Style, shortened, text_width};
use std::fmt::Write as _;

/// Maximum number of candidates of a group shown.
const CANDIDATES_MAX: usize = 12;

/// Maximum width of names, in columns.
const NAME_WIDTH: usize = 40;

/// Maximum number of candidates whose missing margin is explained.
const RUNNERS_UP: usize = 3;

/// Formatter of explanations of a run.
pub struct Explainer {
    names: Names,
    style: Style,
}

impl Explainer {
    /// Makes a formatter for a run with these names.
    pub fn new(names: &Names, style: Style) -> Explainer {
        let shown = |names: &[String]| {
            names.iter().map(|name| shortened(&escape::name(name), NAME_WIDTH, style)).collect()
        };
        let names = Names {
            tasks: shown(&names.tasks),
            groups: shown(&names.groups),
            rules: names.rules.clone(),
        };
        Explainer { names, style }
    }

    /// Returns the name of a task.
    pub fn task_name(&self, task: TaskId) -> &str {
        self.names.task(task)
    }

    fn span(&self, ns: u64) -> String {
        duration(ns, self.style.unicode)
    }

    fn when(&self, ns: u64) -> String {
        milliseconds(ns)
    }

    fn current(&self, task: Option<TaskId>) -> &str {
        task.map_or("idle", |task| self.names.task(task))
    }

    /// Returns the name and the text of a rule.
    fn rule(&self, rule: Rule) -> String {
        match self.names.rule(rule) {
            Some(doc) => format!("`{}`: {}", doc.name, doc.text),
            None => "a rule without a name".into(),
        }
    }

    /// Describes a moment.
    pub fn moment(&self, standing: &Moment) -> String {
        let count = |was| standing.tasks.iter().filter(|task| task.was == was).count();
        format!(
            "At {}: {} on CPUs, {} waiting for one, {} asleep, {} ended.\n",
            self.when(standing.at_ns),
            count(TaskActivity::Running),
            count(TaskActivity::Waiting),
            count(TaskActivity::Blocked),
            count(TaskActivity::Ended)
        )
    }

    /// Describes a CPU at a moment. `wins` finds the nice value with which a task would have been
    /// picked.
    pub fn cpu(
        &self,
        standing: &Moment,
        cpu: CpuId,
        wins: impl Fn(TaskId) -> Result<NiceThatWins, Failure>,
    ) -> Result<String, Failure> {
        let row = &standing.cpus[cpu.index()];
        let mut text = String::new();
        let who = self.current(row.current);
        let since = format!(
            "since {} ({})",
            self.when(row.since_ns),
            self.span(standing.at_ns - row.since_ns)
        );
        match row.current {
            Some(_) => _ = writeln!(text, "CPU {}: {who} has run {since}.", cpu.0),
            None => _ = writeln!(text, "CPU {}: idle {since}.", cpu.0),
        }
        if let Some(picked) = &row.picked {
            let _ = writeln!(text, "It was picked by {}", self.rule(picked.account.rule));
            self.grounds(&mut text, &picked.account);
        }
        if let Some(kept) = row.kept.as_ref().filter(|kept| kept.at_ns > row.since_ns) {
            let _ = writeln!(
                text,
                "At {} the CPU picked again, and it continued, by {}",
                self.when(kept.at_ns),
                self.rule(kept.account.rule)
            );
        }
        for limit in &row.throttled {
            let of = |task: &(&TaskId, &GroupId)| {
                *task.1 == limit.limit.group
                    && standing.tasks.get(task.0.index()).is_some_and(|row| row.cpu == Some(cpu))
            };
            let waiting: Vec<&str> = (standing.throttled.iter().filter(of).take(CANDIDATES_MAX))
                .map(|(&task, _)| self.names.task(task))
                .collect();
            let held = match waiting.as_slice() {
                [] => String::new(),
                waiting => format!(" It keeps {} from running.", waiting.join(", ")),
            };
            let _ = writeln!(text, "{}{held}", self.throttled(standing.at_ns, limit));
        }
        if row.candidates.is_empty() {
            let _ = writeln!(text, "No task can be picked.");
        } else {
            let would = row.would_pick.map_or("no task", |who| self.names.who(who));
            let books = match row.is_fresh || row.current.is_none() {
                true => "",
                false => " (according to its accounts, which are updated at ticks and decisions)",
            };
            text.push('\n');
            let _ = writeln!(text, "If it picked now, the choice would be {would}, among{books}:");
            self.candidates(&mut text, &row.candidates);
            self.what_lacks(&mut text, row, wins)?;
        }
        match row.next {
            Some((at_ns, next, rule)) => {
                let after = self.span(at_ns - standing.at_ns);
                let _ = writeln!(
                    text,
                    "\nThen, at {} ({after} later): {}, by {}",
                    self.when(at_ns),
                    self.current(next),
                    self.rule(rule)
                );
            }
            None => _ = writeln!(text, "\nNothing changes on it until the end of the run."),
        }
        Ok(text)
    }

    /// Describes what tasks that were not picked lacked.
    fn what_lacks(
        &self,
        text: &mut String,
        row: &CpuMoment,
        wins: impl Fn(TaskId) -> Result<NiceThatWins, Failure>,
    ) -> Result<(), Failure> {
        let Some(Who::Task(winner)) = row.would_pick else { return Ok(()) };
        let within = |task| {
            let is = |candidate: &&Candidate| candidate.who == Who::Task(task);
            row.candidates.iter().find(is)
        };
        let Some(best) = within(winner) else { return Ok(()) };
        let mut others: Vec<&Candidate> = row
            .candidates
            .iter()
            .filter(|other| other.within == best.within && other.who != best.who)
            .collect();
        others.sort_by_key(|candidate| candidate.rank);
        let mut not_tried = false;
        for other in others.iter().take(RUNNERS_UP) {
            let mut line = format!(
                "  {} would be picked with {}",
                self.names.who(other.who),
                lacked(best, other)
            );
            if let Who::Task(task) = other.who {
                match wins(task)? {
                    NiceThatWins::Is(nice) => {
                        let _ = write!(line, ", or if its nice value were set to {nice} now");
                    }
                    NiceThatWins::None => {
                        line.push_str("; no nice value set now would suffice");
                    }
                    NiceThatWins::NotOrdinary => {}
                    NiceThatWins::NotTried => not_tried = true,
                }
            }
            let _ = writeln!(text, "{line}.");
        }
        if not_tried {
            let _ =
                writeln!(text, "  (Other nice values were not tried, which would take too long.)");
        }
        Ok(())
    }

    /// Prints the numbers on which a decision rests.
    fn grounds(&self, text: &mut String, account: &Account) {
        let terms = &account.evidence.terms;
        if !terms.is_empty() {
            let shown: Vec<String> = terms
                .iter()
                .map(|term| format!("{} = {}", term.name, number(&term.name, term.value)))
                .collect();
            let _ = writeln!(text, "  with {}", shown.join(", "));
        }
        if !account.evidence.candidates.is_empty() {
            self.candidates(text, &account.evidence.candidates);
        }
    }

    /// Prints tables of candidates, one for each group, from the root down. The first candidate is
    /// the one picked.
    fn candidates(&self, text: &mut String, candidates: &[Candidate]) {
        let mut within = vec![GroupId::ROOT];
        let mut shown = 0;
        while let Some(&group) = within.get(shown) {
            shown += 1;
            let mut members: Vec<&Candidate> =
                candidates.iter().filter(|candidate| candidate.within == group).collect();
            members.sort_by_key(|candidate| candidate.rank);
            let groups = members.iter().filter_map(|candidate| match candidate.who {
                Who::Group(group) => Some(group),
                _ => None,
            });
            within.extend(groups.filter(|group| !within.contains(group)).collect::<Vec<_>>());
            if members.is_empty() {
                continue;
            }
            if group != GroupId::ROOT {
                let _ = writeln!(text, "  within {}:", self.names.who(Who::Group(group)));
            }
            let mut terms: Vec<&str> = vec![];
            for term in members.iter().flat_map(|candidate| &candidate.terms) {
                if !terms.contains(&&*term.name) {
                    terms.push(&term.name);
                }
            }
            let mut rows = vec![
                std::iter::once(String::new())
                    .chain(terms.iter().map(ToString::to_string))
                    .collect::<Vec<_>>(),
            ];
            for (place, candidate) in members.iter().take(CANDIDATES_MAX).enumerate() {
                let mark = if place == 0 { "> " } else { "  " };
                let value = |name: &&str| {
                    let term = candidate.terms.iter().find(|term| term.name == *name);
                    term.map_or(String::new(), |term| term.value.to_string())
                };
                rows.push(
                    std::iter::once(format!("{mark}{}", self.names.who(candidate.who)))
                        .chain(terms.iter().map(value))
                        .collect(),
                );
            }
            columns(text, &rows);
            if let Some(more) = members.len().checked_sub(CANDIDATES_MAX).filter(|&more| more > 0) {
                let _ = writeln!(text, "    and {more} more after them");
            }
        }
    }

    /// Describes why a task runs, or does not.
    pub fn task(&self, standing: &Moment, task: TaskId) -> String {
        let name = self.names.task(task);
        let at = self.when(standing.at_ns);
        let Some(row) = standing.tasks.get(task.index()) else {
            return format!("At {at}, {name} has not started yet.\n");
        };
        let (began, for_ns) = (self.when(row.since_ns), standing.at_ns - row.since_ns);
        let since = format!("since {began} ({})", self.span(for_ns));
        let mut text = match row.was {
            TaskActivity::NotStarted => format!("At {at}, {name} has not started yet.\n"),
            TaskActivity::Ended => {
                format!("At {at}, {name} no longer exists: it ended at {began}.\n")
            }
            TaskActivity::Blocked => {
                format!("At {at}, {name} is not runnable: it has been asleep or stopped {since}.\n")
            }
            TaskActivity::Running => {
                let cpu = row.cpu.map_or(0, |cpu| cpu.0);
                format!("At {at}, {name} has been running on CPU {cpu} {since}.\n")
            }
            TaskActivity::Waiting => format!(
                "At {at}, {name} has been waiting for CPU {} {since}.\n",
                row.cpu.map_or(0, |cpu| cpu.0)
            ),
        };
        if let Some(limit) = standing.limit_of(task) {
            let _ = writeln!(text, "{}", self.throttled(standing.at_ns, limit));
        } else if let (TaskActivity::Waiting, Some(cpu)) = (row.was, row.cpu) {
            let there = &standing.cpus[cpu.index()];
            let _ = writeln!(
                text,
                "{} has had the CPU since {} ({}).",
                self.current(there.current),
                self.when(there.since_ns),
                self.span(standing.at_ns - there.since_ns)
            );
            if let Some(picked) = &there.picked {
                let _ = writeln!(text, "It was picked by {}", self.rule(picked.account.rule));
            }
            let own = there.candidates.iter().find(|one| one.who == Who::Task(task));
            if let Some(own) = own {
                let members = standing.members(cpu, own.within);
                let before: Vec<&str> = members
                    .iter()
                    .take_while(|one| one.who != own.who)
                    .map(|one| self.names.who(one.who))
                    .collect();
                match before.as_slice() {
                    [] => _ = writeln!(text, "It is the next to be picked."),
                    before => {
                        let _ = writeln!(text, "Ahead of it are {}.", before.join(", "));
                    }
                }
                if let Some(best) = members.first().filter(|best| best.who != own.who) {
                    let _ = writeln!(text, "It would be picked with {}.", lacked(best, own));
                }
            }
            self.candidates(&mut text, &there.candidates);
            let is_ordinary = standing.attrs.get(task.index()).is_some_and(|attr| {
                !attr.policy.is_realtime() && attr.policy != schedlab_core::Policy::Deadline
            });
            if own.is_none() {
                let _ = writeln!(
                    text,
                    "It cannot be picked: it, its group or its class has used \
                     up its runtime, or another class comes first."
                );
            }
            let _ = match standing.longest_wait_ns.filter(|_| is_ordinary && own.is_some()) {
                Some(ns) => writeln!(
                    text,
                    "By the rules of this scheduler no ordinary task waits longer than {} with \
                     this load: it runs by {} at the latest (not counting the time of real-time \
                     tasks).",
                    self.span(ns),
                    self.when(row.since_ns + ns)
                ),
                None => writeln!(text, "Here the scheduler promises no limit to its wait."),
            };
        }
        if row.was != TaskActivity::Ended {
            let _ = match row.runs_next {
                Some((at_ns, cpu, rule)) => writeln!(
                    text,
                    "It next got a CPU at {} ({} later): CPU {}, by {}",
                    self.when(at_ns),
                    self.span(at_ns - standing.at_ns),
                    cpu.0,
                    self.rule(rule)
                ),
                None => writeln!(text, "It was not given a CPU again before the end of the run."),
            };
        }
        text
    }

    /// Describes a limit.
    fn limit(&self, limit: &Throttling) -> String {
        let group = self.names.who(Who::Group(limit.group));
        let period = self.span(limit.period_ns);
        match limit.quota_ns {
            Some(ns) => format!("{group} (at most {} in each {period})", self.span(ns)),
            None => format!("{group} (whose limit was lifted)"),
        }
    }

    /// Describes a throttled group.
    fn throttled(&self, at_ns: u64, limit: &ThrottledMoment) -> String {
        let mut text = format!(
            "Throttled: {} has used up its limit on CPU {}, since {} ({}).",
            self.limit(&limit.limit),
            limit.limit.cpu.0,
            self.when(limit.since_ns),
            self.span(at_ns - limit.since_ns)
        );
        if let Some(refill_ns) = limit.limit.refill_ns {
            let _ = write!(text, " The next refill was due at {}.", self.when(refill_ns));
        }
        let _ = match limit.until_ns {
            Some(until_ns) => write!(
                text,
                " It had runtime there again at {} ({} later).",
                self.when(until_ns),
                self.span(until_ns - at_ns)
            ),
            None => write!(text, " It had no runtime there before the end of the run."),
        };
        text
    }

    /// Describes the part of a wait in which the task was throttled.
    fn throttled_wait(&self, wait: &ThrottledWait) -> String {
        let times = match wait.times {
            1 => "once".into(),
            times => format!("{times} times"),
        };
        let end = match (wait.until_ns, wait.limit.refill_ns) {
            (Some(ns), _) => format!("it had runtime there again at {}", self.when(ns)),
            (None, Some(ns)) => format!("the next refill is due at {}", self.when(ns)),
            (None, None) => "no refill is due".into(),
        };
        format!(
            "   Throttled for {}, {times}: {} had used up its limit on CPU {}; {end}.",
            self.span(wait.ns),
            self.limit(&wait.limit),
            wait.limit.cpu.0
        )
    }

    /// Describes where two runs part.
    pub fn parting(&self, parting: &Parting) -> String {
        let at = self.when(parting.at_ns);
        let cpu = parting.cpu.0;
        let before = match parting.sides[0].before {
            Some((task, since_ns)) => {
                format!("which has run {} since {}", self.names.task(task), self.when(since_ns))
            }
            None => "which is idle".into(),
        };
        match parting.same {
            0 => format!("The schedules diverge at the start, at {at}, on CPU {cpu}, {before}.\n"),
            same => format!(
                "The schedules diverge at {at}, after {}, on CPU {cpu}, {before}.\n",
                counted(same as usize, "equal step")
            ),
        }
    }

    /// Describes what one of two runs does where they part.
    pub fn parting_side(&self, parting: &Parting, side: &PartingSide, title: &str) -> String {
        let current = |task: Option<TaskId>| self.current(task).to_string();
        let mut text = match side.step {
            Some(TimedStep { step: Step::Runs { task, .. }, rule, .. }) => match task {
                Some(task) => {
                    format!("{title}: {} runs, by {}\n", self.names.task(task), self.rule(rule))
                }
                None => format!("{title}: the CPU idles, by {}\n", self.rule(rule)),
            },
            Some(TimedStep { step: Step::Placed { cpu, task }, rule, .. }) => format!(
                "{title}: {} is put on the runqueue of CPU {}, by {}\n",
                self.names.task(task),
                cpu.0,
                self.rule(rule)
            ),
            None => format!("{title}: no such step; {} continues.\n", {
                current(side.before.map(|(task, _)| task))
            }),
        };
        for question in [Question::SelectCpu, Question::Migrate, Question::Preempt, Question::Pick]
        {
            let of_question = |account: &&Account| account.question == question;
            let own = |account: &&Account| account.cpu == parting.cpu;
            let all = || side.accounts.iter().filter(of_question);
            let Some(account) = all().rfind(own).or_else(|| all().next_back()) else {
                continue;
            };
            if side.step.is_none_or(|timed| timed.rule != account.rule) {
                let name = question.name();
                let _ = writeln!(text, "  {name}, by {}", self.rule(account.rule));
            }
            self.grounds(&mut text, account);
        }
        let later = side.next.filter(|next| next.at_ns > parting.at_ns);
        if let Some(TimedStep { at_ns, step: Step::Runs { task, .. }, rule }) = later {
            let _ = writeln!(
                text,
                "  The CPU's next switch is at {}: {}, by {}",
                self.when(at_ns),
                current(task),
                self.rule(rule)
            );
        }
        text
    }

    /// Describes a wakeup.
    pub fn wakeup(&self, number: u64, of_task: &str, wakeup: &Wakeup) -> String {
        let by = match wakeup.waker {
            Waker::Interrupt { cpu } => format!("an interrupt on CPU {}", cpu.0),
            Waker::Process { cpu } => format!("the kernel on CPU {}", cpu.0),
            Waker::Task { task, cpu, sync } => format!(
                "{} on CPU {}{}",
                self.names.task(task),
                cpu.0,
                if sync { ", which announces that it will sleep at once" } else { "" }
            ),
        };
        let mut text = format!(
            "Wakeup {number}{of_task}, at {}: {} is woken by {by}.\n",
            self.when(wakeup.at_ns),
            self.names.task(wakeup.task)
        );
        let _ = writeln!(
            text,
            "It is put on the runqueue of CPU {}, by {}",
            wakeup.cpu.0,
            self.rule(wakeup.placed)
        );
        if let Some(account) = &wakeup.placed_by {
            self.grounds(&mut text, account);
        }
        let _ = match wakeup.current {
            Some((task, since_ns)) => writeln!(
                text,
                "There {} has run for {}. Whether it is preempted is decided by {}",
                self.names.task(task),
                self.span(wakeup.at_ns - since_ns),
                self.rule(wakeup.preempts)
            ),
            None => writeln!(text, "That CPU idles: {}", self.rule(wakeup.preempts)),
        };
        if let Some(account) = &wakeup.preempts_by {
            self.grounds(&mut text, account);
        }
        let _ = match wakeup.ran {
            Some((at_ns, cpu)) => writeln!(
                text,
                "It ran at {}, after {}, on CPU {}.",
                self.when(at_ns),
                self.span(at_ns - wakeup.at_ns),
                cpu.0
            ),
            None => writeln!(text, "It did not run before the end."),
        };
        text
    }

    /// Describes a long wait.
    pub fn wait(&self, place: usize, wait: &Wait) -> String {
        let mut text = format!(
            "{place}. {} waited {}, from {} to {}",
            self.names.task(wait.task),
            self.span(wait.end_ns - wait.start_ns),
            self.when(wait.start_ns),
            self.when(wait.end_ns)
        );
        let _ = match wait.ran {
            true => writeln!(text, ", when it ran on CPU {}.", wait.cpu.0),
            false => writeln!(text, ", when the run or the task ended."),
        };
        for part in &wait.throttled {
            let _ = writeln!(text, "{}", self.throttled_wait(part));
        }
        if !wait.throttled.is_empty() && wait.meanwhile.is_empty() {
            return text;
        }
        let _ = match wait.throttled.is_empty() {
            true => writeln!(text, "   Meanwhile the CPU that it waited for ran"),
            false => writeln!(text, "   Otherwise the CPU that it waited for ran"),
        };
        let mut rows: Vec<Vec<String>> = wait
            .meanwhile
            .iter()
            .take(CANDIDATES_MAX)
            .map(|&(task, ns, turns)| {
                vec![
                    format!("   {}", self.current(task)),
                    self.span(ns),
                    format!("in {}", crate::terminal::counted(turns as usize, "turn")),
                ]
            })
            .collect();
        if wait.meanwhile.len() > CANDIDATES_MAX {
            rows.push(vec![format!("   and {} more", wait.meanwhile.len() - CANDIDATES_MAX)]);
        }
        columns(&mut text, &rows);
        for (&rule, &picks) in &wait.lost {
            let picks = crate::terminal::counted(picks as usize, "pick");
            let _ = writeln!(text, "   Others won {picks} by {}", self.rule(rule));
        }
        self.lost(&mut text, "first", wait.first.as_ref(), wait);
        let again =
            |lost: &&LostPick| wait.first.as_ref().is_some_and(|one| one.at_ns != lost.at_ns);
        self.lost(&mut text, "last", wait.last.as_ref().filter(again), wait);
        if wait.lost.is_empty() && wait.throttled.is_empty() {
            let _ = writeln!(
                text,
                "   No pick in the meantime could choose it: there was no pick, or it, its group \
                 or its class had used up its runtime, or another class came first."
            );
        }
        text
    }

    fn lost(&self, text: &mut String, which: &str, lost: Option<&LostPick>, wait: &Wait) {
        let Some(lost) = lost else { return };
        let candidates = &lost.account.evidence.candidates;
        let Some(own) = candidates.iter().find(|one| one.who == Who::Task(wait.task)) else {
            return;
        };
        let members = candidates.iter().filter(|one| one.within == own.within);
        let Some(best) = members.min_by_key(|one| one.rank) else { return };
        let _ = match best.who == own.who {
            false => writeln!(
                text,
                "   The {which} of them, at {}, went to {}; {} would have been picked with {}:",
                self.when(lost.at_ns),
                self.names.who(best.who),
                self.names.who(own.who),
                lacked(best, own)
            ),
            true => writeln!(
                text,
                "   The {which} of them, at {}, went to a group other than its own:",
                self.when(lost.at_ns)
            ),
        };
        self.candidates(text, candidates);
    }
}

/// Describes what `own` lacked to be picked instead of `best`.
fn lacked(best: &Candidate, own: &Candidate) -> String {
    let parts: Vec<String> = margins(best, own).into_iter().map(|it| part(it, own)).collect();
    match parts.as_slice() {
        [] => "nothing more: they are equal".into(),
        parts => parts.join(" and "),
    }
}

/// Describes one missing margin.
fn part(margin: Margin, own: &Candidate) -> String {
    let Some(term) = margin.term else {
        return match margin.equal {
            true => "an earlier place in the queue, as these numbers are equal".into(),
            false => "a precedence that the rule gives and these numbers do not show".into(),
        };
    };
    let has = own.terms.iter().find(|other| other.name == term.name).map_or(0, |own| own.value);
    match (has_unit(&term.name), term.value > 0) {
        (true, true) => format!("{} less `{}`", number(&term.name, term.value), term.name),
        (true, false) => format!("{} more `{}`", number(&term.name, -term.value), term.name),
        (false, _) => format!("`{}` {} instead of {has}", term.name, has - term.value),
    }
}

/// Formats a time in milliseconds, exact to the nanosecond.
fn milliseconds(ns: u64) -> String {
    let text = format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000);
    format!("{} ms", text.trim_end_matches('0').trim_end_matches('.'))
}

fn has_unit(name: &str) -> bool {
    name.ends_with("_ns")
}

/// Formats a number with its unit, which is the suffix of its name.
fn number(name: &str, value: i64) -> String {
    match has_unit(name) {
        true => {
            let text = signed_duration(value, true);
            text.trim_start_matches('+').to_string()
        }
        false => value.to_string(),
    }
}

/// Aligns rows of cells, the first column to the left and the others to the right.
fn columns(text: &mut String, rows: &[Vec<String>]) {
    let many = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..many)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| text_width(cell)).max())
        .map(Option::unwrap_or_default)
        .collect();
    for row in rows {
        let mut line = String::from("  ");
        for (at, cell) in row.iter().enumerate() {
            let room = " ".repeat(widths[at] - text_width(cell));
            match at {
                0 => _ = write!(line, "{cell}{room}"),
                _ => _ = write!(line, "  {room}{cell}"),
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
