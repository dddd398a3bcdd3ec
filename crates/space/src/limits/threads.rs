//! Numbers of threads of a task, as an axis: [`Threads`].

use schedlab_workload::{Model, groups};

/// Maximum number of threads.
const MOST: u32 = 4096;

/// Numbers of threads to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Key of the task in the workload. `None`: the only one of the group.
    pub task: Option<String>,
    /// Numbers of its threads, at least one.
    pub counts: Vec<u32>,
}

impl Threads {
    /// Parses `1,2,8`, `1..32` (which doubles: 1, 2, 4, 8, 16, 32) or `worker=1..32`.
    ///
    /// # Errors
    /// It is none of these.
    pub fn parse(text: &str) -> Result<Threads, String> {
        let (task, list) = match text.rsplit_once('=') {
            Some((task, list)) => (Some(task.to_string()).filter(|it| !it.is_empty()), list),
            None => (None, text),
        };
        let wrong = || {
            format!("\"{text}\" is no list of numbers of threads; write 1,2,8, 1..32 or TASK=1..32")
        };
        let number = |text: &str| {
            let number = text.trim().parse::<u32>().ok().filter(|it| (1..=MOST).contains(it));
            number.ok_or_else(wrong)
        };
        let mut counts = vec![];
        for part in list.split(',') {
            let Some((first, last)) = part.split_once("..") else {
                counts.push(number(part)?);
                continue;
            };
            let (mut count, last) = (number(first)?, number(last.trim_start_matches('='))?);
            if count > last {
                return Err(wrong());
            }
            while count < last {
                counts.push(count);
                count *= 2;
            }
            counts.push(last);
        }
        counts.sort_unstable();
        counts.dedup();
        Ok(Threads { task, counts })
    }

    /// Returns the key of the task in `group`, or below it.
    pub(super) fn task_of(&self, model: &Model, group: &str) -> Result<String, String> {
        let inside = model.tasks.iter().filter(|task| {
            let path = task.properties.taskgroup.as_ref();
            task.instances > 0 && path.is_some_and(|path| groups::is_within(path, group))
        });
        let keys: Vec<&str> = inside.map(|task| task.key.as_str()).collect();
        let list = || keys.join(", ");
        match (&self.task, keys.as_slice()) {
            (Some(task), keys) if keys.contains(&task.as_str()) => Ok(task.clone()),
            (Some(task), []) => Err(format!("--threads: no task of {group} is named {task}")),
            (Some(task), _) => Err(format!(
                "--threads: no task of {group} is named {task}; its tasks are {}",
                list()
            )),
            (None, [one]) => Ok(one.to_string()),
            (None, []) => Err(format!("--threads: no task begins in {group}")),
            (None, [first, ..]) => Err(format!(
                "--threads: {group} has the tasks {}; name one, as in --threads {first}=1..32",
                list()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_double() {
        let counts = |text: &str| Threads::parse(text).map(|it| it.counts);
        assert_eq!(counts("1..32"), Ok(vec![1, 2, 4, 8, 16, 32]));
        assert_eq!(counts("3..10,1"), Ok(vec![1, 3, 6, 10]));
        assert_eq!(counts("4"), Ok(vec![4]));
        let named = Threads::parse("gc=32,4").expect("a list");
        assert_eq!((named.task.as_deref(), named.counts), (Some("gc"), vec![4, 32]));
        for wrong in ["", "0", "1..", "8..2", "x", "5000", "a="] {
            let error = Threads::parse(wrong).expect_err(wrong);
            assert!(error.contains("no list of numbers of threads"), "{error}");
        }
    }
}
