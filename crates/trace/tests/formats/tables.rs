//! Tables: CSV read by hand, Arrow and Parquet by the readers of their crates.

use crate::each;
use crate::support::Traced;
use std::collections::BTreeMap;
use std::path::Path;

/// Columns by name, with every value as text and null as an empty text.
type Table = BTreeMap<String, Vec<String>>;

/// Splits a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (vec![], String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    cells.push(cell);
    cells
}

fn csv(path: &Path) -> Table {
    let text = std::fs::read_to_string(path).expect("it is text");
    let mut lines = text.lines();
    let names = cells(lines.next().expect("a heading"));
    let mut table: Table = names.iter().map(|name| (name.clone(), vec![])).collect();
    for line in lines {
        let row = cells(line);
        assert_eq!(row.len(), names.len(), "{line}");
        for (name, cell) in names.iter().zip(row) {
            table.get_mut(name).expect("a column").push(cell);
        }
    }
    table
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("\"{text}\" is a number"))
}

/// Sums `value` by `key`.
fn sums(table: &Table, key: &str, value: impl Fn(usize) -> u64) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for (row, key) in table[key].iter().enumerate() {
        *sums.entry(number(key)).or_default() += value(row);
    }
    sums
}

/// Checks that all tables agree with the report.
fn check(traced: &Traced, read: impl Fn(&Path) -> Table, ending: &str) {
    let table = |name: &str| read(&traced.path.join(format!("{name}.{ending}")));
    let report = &traced.truth.report;
    let scheduler = &traced.truth.scheduler;

    let slices = table("slices");
    let length = |row: usize| number(&slices["end_ns"][row]) - number(&slices["start_ns"][row]);
    let (ran_ns, turns) = (sums(&slices, "pid", length), sums(&slices, "pid", |_| 1));
    let wakeups = table("wakeups");
    let is_wakeup = |row: usize| u64::from(wakeups["is_new"][row] == "0");
    let woken = sums(&wakeups, "pid", is_wakeup);
    let latency = |row: usize| match is_wakeup(row) {
        0 => 0,
        _ => wakeups["latency_ns"][row].parse().unwrap_or(0),
    };
    let latencies = sums(&wakeups, "pid", latency);
    let migrations = sums(&table("migrations"), "pid", |_| 1);
    let tasks = table("tasks");
    assert_eq!(tasks["pid"].len(), report.tasks.len());
    for (row, task) in report.tasks.iter().enumerate() {
        let pid = u64::from(task.task + 1);
        let of = |sums: &BTreeMap<u64, u64>| sums.get(&pid).copied().unwrap_or(0);
        let figure = |column: &str| number(&tasks[column][row]);
        let name = format!("{scheduler}: {}", task.name);
        assert_eq!(figure("pid"), pid);
        assert_eq!(tasks["task"][row], task.name);
        assert_eq!((of(&ran_ns), figure("cpu_ns")), (task.cpu_ns, task.cpu_ns), "{name}");
        assert_eq!((of(&turns), figure("switches_in")), (task.switches_in, task.switches_in));
        assert_eq!((of(&woken), figure("wakeups")), (task.wakeups, task.wakeups), "{name}");
        assert_eq!(figure("wait_ns"), task.wait_ns, "{name}");
        assert_eq!(figure("wait_max_ns"), task.wait_max_ns, "{name}");
        assert_eq!(figure("blocked_ns"), task.blocked_ns, "{name}");
        assert_eq!(figure("voluntary"), task.switches_voluntary, "{name}");
        assert_eq!(figure("involuntary"), task.switches_involuntary, "{name}");
        assert_eq!(of(&migrations), figure("migrations"), "{name}");
        let time = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        assert_eq!(tasks["start_ns"][row], time(task.start_ns));
        assert_eq!(tasks["first_run_ns"][row], time(task.first_run_ns));
        assert_eq!(tasks["end_ns"][row], time(task.end_ns), "{name}");
        if let Some(mean_ns) = task.latency_mean_ns {
            let mean = of(&latencies).checked_div(task.latency_count).unwrap_or(0);
            assert!(mean.abs_diff(mean_ns) <= 1, "{name}: {mean} and {mean_ns}");
        }
    }
    let groups = table("groups");
    let all: u64 = report.tasks.iter().map(|task| task.cpu_ns).sum();
    assert_eq!((groups["group"][0].as_str(), number(&groups["cpu_ns"][0])), ("/", all));
}

#[test]
fn csv_says_what_the_run_says() {
    each("csv", |traced| check(traced, csv, "csv"));
}

/// Sums the CPU time of each task from the slices that polars reads with `reader`. Without polars
/// the test is skipped with a message.
fn polars(name: &str, reader: &str) {
    use std::process::Command;
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let there = Command::new(&python).args(["-c", "import polars"]).output();
    if !there.is_ok_and(|there| there.status.success()) {
        eprintln!("SKIPPED polars reads {name}: {python} has no package `polars`");
        return;
    }
    let script = format!(
        "import polars, sys\n\
         slices = polars.{reader}(sys.argv[1])\n\
         slices = slices.with_columns(ns=polars.col('end_ns') - polars.col('start_ns'))\n\
         for pid, ns in slices.group_by('pid').agg(polars.col('ns').sum()).iter_rows():\n\
         \x20   print(pid, ns)\n"
    );
    each(name, |traced| {
        let file = traced.path.join(format!("slices.{name}"));
        let ran = Command::new(&python)
            .args(["-c", &script])
            .arg(file)
            .output()
            .expect("Python can be started");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let text = String::from_utf8(ran.stdout).expect("text");
        let sums: BTreeMap<u64, u64> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(pid, ns)| (number(pid), number(ns)))
            .collect();
        for task in &traced.truth.report.tasks {
            let ran_ns = sums.get(&u64::from(task.task + 1)).copied().unwrap_or(0);
            assert_eq!(ran_ns, task.cpu_ns, "{}", task.name);
        }
    });
}

#[test]
fn polars_reads_csv() {
    polars("csv", "read_csv");
}

#[cfg(feature = "arrow")]
#[test]
fn polars_reads_arrow() {
    polars("arrow", "read_ipc");
}

#[cfg(feature = "parquet")]
#[test]
fn polars_reads_parquet() {
    polars("parquet", "read_parquet");
}

#[cfg(any(feature = "arrow", feature = "parquet"))]
fn of_batches(batches: impl Iterator<Item = arrow_array::RecordBatch>) -> Table {
    use arrow_array::{Array, Int64Array, StringArray};
    let mut table = Table::new();
    for batch in batches {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let values = table.entry(field.name().clone()).or_default();
            for row in 0..column.len() {
                let any = column.as_any();
                let text = match (any.downcast_ref(), any.downcast_ref()) {
                    _ if column.is_null(row) => String::new(),
                    (Some(numbers), None) => Int64Array::value(numbers, row).to_string(),
                    (None, Some(texts)) => StringArray::value(texts, row).to_string(),
                    _ => panic!("{} is neither numbers nor text", field.name()),
                };
                values.push(text);
            }
        }
    }
    table
}

#[cfg(any(feature = "arrow", feature = "parquet"))]
const COLUMNS: &str = "at_ns,pid,task,from_cpu,to_cpu";

/// Reads the columns of a table. A table without rows may have no batch: its columns exist
/// nevertheless.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn with_columns(mut table: Table) -> Table {
    if table.is_empty() {
        table.extend(COLUMNS.split(',').map(|name| (name.to_string(), vec![])));
    }
    table
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_says_what_the_run_says() {
    let read = |path: &Path| {
        let file = std::fs::File::open(path).expect("the table exists");
        let reader =
            arrow_ipc::reader::FileReader::try_new(file, None).expect("the file is Arrow IPC");
        with_columns(of_batches(reader.map(|batch| batch.expect("a batch"))))
    };
    each("arrow", |traced| check(traced, read, "arrow"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_says_what_the_run_says() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let read = |path: &Path| {
        let file = std::fs::File::open(path).expect("the table exists");
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("the file is Parquet");
        let reader = builder.build().expect("the file is Parquet");
        with_columns(of_batches(reader.map(|batch| batch.expect("a batch"))))
    };
    each("parquet", |traced| check(traced, read, "parquet"));
}
