//! Contents of a timeline: a stretch of a run, cut into cells ([`Window`]), and the tasks or keys
//! that had its time ([`Owners`]).

use super::TimelineError;
use crate::data::{RunReport, SliceRow, SpanRow};
use crate::{Style, shortened, text_width};
use schedlab_measure::stats::key_numbers;

/// Stretch of a run.
pub(super) struct Window<'a> {
    pub run: &'a RunReport,
    pub slices: &'a [SliceRow],
    /// Empty if spans were not recorded.
    pub spans: &'a [SpanRow],
    pub from_ns: u64,
    pub to_ns: u64,
    pub style: Style,
}

impl Window<'_> {
    pub fn new(
        run: &RunReport,
        from_ns: Option<u64>,
        to_ns: Option<u64>,
        style: Style,
    ) -> Result<Window<'_>, TimelineError> {
        let slices = run.slices.as_deref().ok_or(TimelineError::NotRecorded)?;
        let end_ns = run.end.at_ns;
        let from_ns = from_ns.unwrap_or(0);
        let to_ns = to_ns.unwrap_or(end_ns).min(end_ns);
        if from_ns >= to_ns {
            return Err(TimelineError::Window { end_ns });
        }
        Ok(Window {
            run,
            slices,
            spans: run.spans.as_deref().unwrap_or(&[]),
            from_ns,
            to_ns,
            style,
        })
    }

    pub fn cpus(&self) -> u64 {
        u64::from(self.run.machine.cpus)
    }

    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// Returns the number of cells of a lane if `taken` columns are used otherwise. No cell is
    /// shorter than a nanosecond.
    pub fn cells_beside(&self, taken: usize) -> usize {
        let room = self.style.columns().saturating_sub(taken).max(1);
        room.min(usize::try_from(self.length_ns()).unwrap_or(usize::MAX))
    }

    /// Returns the beginning of cell `cell` of `cells`, ns.
    fn cell_start_ns(&self, cell: usize, cells: usize) -> u64 {
        self.from_ns + (u128::from(self.length_ns()) * cell as u128 / cells as u128) as u64
    }

    /// Returns the length of a cell, ns. Lengths differ by one at most.
    pub fn cell_ns(&self, cell: usize, cells: usize) -> u64 {
        self.cell_start_ns(cell + 1, cells) - self.cell_start_ns(cell, cells)
    }

    /// Returns the cell of `at_ns`, which is in the window.
    pub fn cell_of(&self, at_ns: u64, cells: usize) -> usize {
        let passed_ns = u128::from(at_ns - self.from_ns);
        let cell = (passed_ns * cells as u128 / u128::from(self.length_ns())) as usize;
        // Cells begin at whole ns, rounded down: the next may have begun.
        if self.cell_start_ns(cell + 1, cells) <= at_ns { cell + 1 } else { cell }
    }

    /// Returns the part of `start_ns..end_ns` that is in the window. `None`: no part is.
    fn clip(&self, start_ns: u64, end_ns: u64) -> Option<(u64, u64)> {
        let (start_ns, end_ns) = (start_ns.max(self.from_ns), end_ns.min(self.to_ns));
        (start_ns < end_ns).then_some((start_ns, end_ns))
    }

    /// Divides a stretch among its cells: calls `each` with cell and ns.
    pub fn spread(
        &self,
        start_ns: u64,
        end_ns: u64,
        cells: usize,
        mut each: impl FnMut(usize, u64),
    ) {
        let Some((start_ns, end_ns)) = self.clip(start_ns, end_ns) else {
            return;
        };
        let mut at_ns = start_ns;
        let mut cell = self.cell_of(start_ns, cells);
        while at_ns < end_ns {
            let until_ns = self.cell_start_ns(cell + 1, cells).min(end_ns);
            each(cell, until_ns - at_ns);
            at_ns = until_ns;
            cell += 1;
        }
    }

    /// Returns `ns` as a part of the window.
    pub fn part(&self, ns: u64) -> f64 {
        ns as f64 / self.length_ns() as f64
    }
}

/// Owners of the time: tasks or keys. Only those that ran or were runnable in the window.
pub(super) struct Owners {
    labels: Vec<String>,
    /// Owner of each task.
    of_task: Vec<Option<usize>>,
    /// Number of tasks of each owner.
    pub tasks: Vec<usize>,
    /// CPU time of each owner in the window, ns.
    pub cpu_ns: Vec<u64>,
    /// Kind of owners: `task` or `key`.
    pub kind: &'static str,
}

impl Owners {
    pub fn by_task(window: &Window<'_>) -> Owners {
        let tasks = window.run.tasks.iter().enumerate();
        let names = tasks.map(|(number, task)| (number as u32, task.name.as_str()));
        Owners::new(window, names.collect(), "task")
    }

    pub fn by_key(window: &Window<'_>) -> Owners {
        let keys = || window.run.tasks.iter().map(|task| task.key.as_str());
        let numbers = key_numbers(keys());
        Owners::new(window, numbers.into_iter().zip(keys()).collect(), "key")
    }

    /// Creates owners. `candidates` has the owner of each task by number and name. Owners are
    /// numbered in the order of their first task.
    fn new(window: &Window<'_>, candidates: Vec<(u32, &str)>, kind: &'static str) -> Owners {
        let mut there = vec![false; candidates.len()];
        let mut task_ns = vec![0; candidates.len()];
        for &SliceRow(_, start_ns, end_ns, task) in window.slices {
            if let Some((start_ns, end_ns)) = window.clip(start_ns, end_ns) {
                there[task as usize] = true;
                task_ns[task as usize] += end_ns - start_ns;
            }
        }
        for &SpanRow(start_ns, end_ns, task) in window.spans {
            there[task as usize] |= window.clip(start_ns, end_ns).is_some();
        }
        let mut owners = Owners {
            labels: Vec::new(),
            of_task: vec![None; candidates.len()],
            tasks: Vec::new(),
            cpu_ns: Vec::new(),
            kind,
        };
        let mut owner_of = vec![None; candidates.len()];
        let candidates = candidates.iter().enumerate();
        for (task, &(number, label)) in candidates.filter(|&(task, _)| there[task]) {
            let owner = *owner_of[number as usize].get_or_insert_with(|| {
                owners.labels.push(label.into());
                owners.tasks.push(0);
                owners.cpu_ns.push(0);
                owners.labels.len() - 1
            });
            owners.of_task[task] = Some(owner);
            owners.tasks[owner] += 1;
            owners.cpu_ns[owner] += task_ns[task];
        }
        owners
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns the owner of a task's time. `None`: the task was not in the window.
    pub fn of(&self, task: u32) -> Option<usize> {
        self.of_task[task as usize]
    }

    /// Returns the label in at most `width` columns, with the number of tasks if there are several.
    pub fn label(&self, owner: usize, width: usize, style: Style) -> String {
        let sign = if style.unicode { '×' } else { 'x' };
        let count = match self.tasks[owner] {
            1 => String::new(),
            tasks => format!(" {sign}{tasks}"),
        };
        let width = width.saturating_sub(text_width(&count)).max(4);
        shortened(&self.labels[owner], width, style) + &count
    }

    /// Returns the `most` owners with the most CPU time, in their own order.
    pub fn busiest(&self, most: usize) -> Vec<usize> {
        let mut owners: Vec<usize> = (0..self.len()).collect();
        owners.sort_by_key(|&owner| std::cmp::Reverse(self.cpu_ns[owner]));
        owners.truncate(most);
        owners.sort_unstable();
        owners
    }

    /// Returns `3 tasks` or `1 key`.
    pub fn count_text(&self, count: usize) -> String {
        format!("{count} {}{}", self.kind, if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::style::tests::run_with;

    #[test]
    fn a_stretch_is_divided_among_cells_without_loss() {
        // Cells of 10 ns in 3: they begin at 0, 3 and 6.
        let run = run_with(1, 10, &[]);
        let window = Window::new(&run, None, None, Style::plain(80)).unwrap();
        let mut seen = vec![];
        window.spread(2, 99, 3, |cell, ns| seen.push((cell, ns)));
        assert_eq!(seen, [(0, 1), (1, 3), (2, 4)]);
        assert_eq!([0, 2, 3, 5, 6, 9].map(|at_ns| window.cell_of(at_ns, 3)), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn no_cell_is_shorter_than_a_nanosecond() {
        let run = run_with(1, 10, &[]);
        let window = Window::new(&run, Some(4), None, Style::plain(80)).unwrap();
        assert_eq!(window.cells_beside(20), 6);
    }

    #[test]
    fn owners_are_those_who_are_there() {
        // a-0 runs early, b-0 late; b-1 waits all the time.
        let mut run = run_with(1, 100, &["a-0", "b-0", "b-1", "c-0"]);
        run.slices = Some(vec![SliceRow(0, 0, 30, 0), SliceRow(0, 50, 90, 1)]);
        run.spans = Some(vec![SpanRow(0, 30, 0), SpanRow(0, 100, 2), SpanRow(50, 90, 1)]);
        let style = Style::plain(80);
        let all = Window::new(&run, None, None, style).unwrap();
        assert_eq!(Owners::by_task(&all).labels, ["a-0", "b-0", "b-1"]);
        let late = Window::new(&run, Some(60), None, style).unwrap();
        let (tasks, keys) = (Owners::by_task(&late), Owners::by_key(&late));
        assert_eq!((tasks.labels, tasks.cpu_ns), (vec!["b-0".into(), "b-1".into()], vec![30, 0]));
        assert_eq!(keys.label(0, 18, style), "b ×2");
        assert_eq!((keys.of(0), keys.of(2)), (None, Some(0)));
    }
}
