//! oltp: sysbench's transactions on a database server, as a closed queueing model.
//!
//! Each of N client threads has a server thread and waits for its answer, statement after
//! statement, without think time. A server thread spends the middle twentieth of each statement in
//! one mutex of the whole server, for which it spins before it blocks. Changed rows stay locked
//! until COMMIT. Times of statements include the calls on their sockets.

use crate::benchmark::{Benchmark, Conditions, Figure, Findings, Prepared, Table};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs::{self, SharedHistogram};
use schedlab_machine::costs::CallCosts;
use schedlab_workload::programs::{
    ChannelId, Context, Kernel, LogId, MutexId, MutexKind, Program, Spawn, Step,
};
use std::cell::RefCell;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Oltp;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("threads", (1, 100_000), "1", "client threads").positional(),
    Parameter::word(
        "test",
        &["read_write", "read_only"],
        "read_write",
        "the script: oltp_read_write or oltp_read_only",
    ),
    Parameter::whole("time", (1, 100_000), "60", "seconds measured"),
    Parameter::whole("warmup-time", (0, 100_000), "10", "seconds before the measurement"),
    Parameter::whole("table-size", (3, 1_000_000), "10000", "rows of the table"),
    Parameter::real("client", (0.0, 1000.0), "15", "CPU time of the client per statement, us"),
    Parameter::real(
        "spin",
        (0.0, 1000.0),
        "20",
        "time of spinning for the server's mutex before blocking, us",
    ),
    Parameter::real(
        "flush",
        (0.0, 1000.0),
        "0",
        "time of writing the log at COMMIT, ms; 0: the log is not flushed",
    ),
];

/// Statement: CPU time of the server, us, and the row of the transaction that it changes.
#[derive(Clone, Copy)]
struct Statement {
    us: u64,
    row: Option<usize>,
}

const fn reads(us: u64) -> Statement {
    Statement { us, row: None }
}

const fn changes(row: usize, us: u64) -> Statement {
    Statement { us, row: Some(row) }
}

const BEGIN: Statement = reads(15);
const COMMIT: Statement = reads(40);
const POINT: Statement = reads(60);
/// BEGIN, the selects (ten points, a range, SUM, ORDER BY, DISTINCT), the changes (of an indexed
/// column, of another column, a delete and an insert of one row), COMMIT.
const READ_WRITE: &[Statement] = &[
    BEGIN,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    reads(200),
    reads(200),
    reads(300),
    reads(350),
    changes(0, 90),
    changes(1, 90),
    changes(2, 90),
    changes(2, 110),
    COMMIT,
];
const READ_ONLY: &[Statement] = &[
    BEGIN,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    reads(200),
    reads(200),
    reads(300),
    reads(350),
    COMMIT,
];
const SELECTS: u64 = 14;
const WRITES: u64 = 4;

const BYTES: u32 = 100;
const SECOND_NS: u64 = 1_000_000_000;

/// State that all threads share.
struct Shape {
    statements: &'static [Statement],
    client_ns: u64,
    spin_ns: u64,
    flush_ns: u64,
    socket_write_ns: u64,
    socket_read_ns: u64,
    mutex: MutexId,
    log: LogId,
    rows: Vec<MutexId>,
    from_ns: u64,
    /// Latencies of transactions in the measured time, ns.
    latencies: SharedHistogram,
    /// Transactions by the second in which they ended.
    seconds: RefCell<Vec<u64>>,
}

impl Benchmark for Oltp {
    fn name(&self) -> &'static str {
        "oltp"
    }

    fn about(&self) -> &'static str {
        "sysbench's transactions on a database server: transactions per second by client threads"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let CallCosts { socket_write_ns, socket_read_ns, .. } = conditions.costs;
        let (warm_s, time_s) = (values.whole("warmup-time"), values.whole("time"));
        let read_only = values.word("test") == "read_only";
        let objects = os.objects();
        let shape = Rc::new(Shape {
            statements: if read_only { READ_ONLY } else { READ_WRITE },
            client_ns: (values.real("client") * 1e3) as u64,
            spin_ns: (values.real("spin") * 1e3) as u64,
            flush_ns: if read_only { 0 } else { programs::ms(values, "flush") },
            socket_write_ns,
            socket_read_ns,
            mutex: objects.mutex(MutexKind::Barging),
            log: objects.log(),
            rows: (0..values.whole("table-size"))
                .map(|_| objects.mutex(MutexKind::HandedOver))
                .collect(),
            from_ns: warm_s * SECOND_NS,
            latencies: SharedHistogram::default(),
            seconds: RefCell::new(vec![0; time_s as usize]),
        });
        let connections: Rc<[(ChannelId, ChannelId)]> =
            (0..values.whole("threads")).map(|_| (objects.socket(), objects.socket())).collect();
        let served = (shape.clone(), connections.clone());
        os.start(
            0,
            Spawn::new(
                "mysqld",
                process(served.1, move |pair| {
                    Spawn::new("mysqld thread", server(served.0.clone(), pair))
                }),
            ),
        );
        let asked = shape.clone();
        os.start(
            0,
            Spawn::new(
                "sysbench",
                process(connections, move |pair| {
                    Spawn::new("sysbench thread", client(asked.clone(), pair))
                }),
            ),
        );
        let limit_ns = Some((warm_s + time_s) * SECOND_NS);
        Ok(Prepared { limit_ns, finish: Box::new(move |_| findings(&shape)) })
    }
}

fn findings(shape: &Shape) -> Findings {
    let seconds = shape.seconds.borrow();
    let latencies = shape.latencies.borrow();
    let transactions: u64 = seconds.iter().sum();
    let time_s = seconds.len() as f64;
    let rate = transactions as f64 / time_s;
    let statements = shape.statements.len() as u64;
    let writes = if shape.statements.len() == READ_WRITE.len() { WRITES } else { 0 };
    let moments = latencies.moments();
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean_ms = ms(moments.mean().unwrap_or(0));
    let (least_ms, most_ms) =
        if transactions > 0 { (ms(moments.min), ms(moments.max)) } else { (0.0, 0.0) };
    let late_ms = ms(latencies.percentile(95, 100).unwrap_or(0));
    let printed = format!(
        "SQL statistics:\n    queries performed:\n        read:  {:>32}\n        write: {:>32}\n        other: {:>32}\n        \
         total: {:>32}\n    transactions: {transactions:>29} ({rate:.2} per sec.)\n    queries: {:>34} ({:.2} per sec.)\n\n\
         Latency (ms):\n         min: {least_ms:>40.2}\n         avg: {mean_ms:>40.2}\n         max: {most_ms:>40.2}\n         \
         95th percentile: {late_ms:>28.2}\n",
        transactions * SELECTS,
        transactions * writes,
        transactions * 2,
        transactions * statements,
        transactions * statements,
        rate * statements as f64,
    );
    let per_second: Vec<f64> = seconds.iter().map(|&count| count as f64).collect();
    let (_, variance) = programs::mean_and_variance(&per_second);
    let figures = vec![
        Figure::higher("transactions a second", "1/s", rate),
        Figure::lower("SD over seconds", "1/s", variance.sqrt()),
        Figure::higher("queries a second", "1/s", rate * statements as f64),
        Figure::lower("latency mean", "ms", mean_ms),
        Figure::lower("latency 95 %", "ms", late_ms),
        Figure::lower("latency max", "ms", most_ms),
    ];
    let mut table = Table::new("transactions", &["second", "transactions"]);
    for (second, &count) in seconds.iter().enumerate() {
        table.push((second + 1).to_string(), vec![count as f64]);
    }
    Findings { printed, figures, tables: vec![table] }
}

/// Process with one thread per connection.
fn process(
    connections: Rc<[(ChannelId, ChannelId)]>,
    thread: impl Fn((ChannelId, ChannelId)) -> Spawn + 'static,
) -> impl Program + 'static {
    let mut made = 0;
    move |_: &mut Context<'_>| match connections.get(made) {
        Some(&connection) => {
            made += 1;
            Step::Fork(Box::new(thread(connection).thread(true)))
        }
        None => Step::WaitChild,
    }
}

fn client(shape: Rc<Shape>, (up, down): (ChannelId, ChannelId)) -> impl Program + 'static {
    let own_ns = shape.client_ns.saturating_sub(shape.socket_write_ns + shape.socket_read_ns);
    let (mut statement, mut part) = (0, 0);
    let mut begun_ns = None;
    move |os: &mut Context<'_>| {
        if part == 0 && statement == 0 {
            if let Some(begun_ns) = begun_ns {
                shape.note(begun_ns, os.now_ns());
            }
            begun_ns = Some(os.now_ns());
        }
        let now = part;
        part = (part + 1) % 3;
        match now {
            0 => Step::Run(own_ns),
            1 => Step::Write(up, BYTES),
            _ => {
                statement = (statement + 1) % shape.statements.len();
                Step::Read(down, BYTES)
            }
        }
    }
}

impl Shape {
    /// Records the end of a transaction.
    fn note(&self, begun_ns: u64, now_ns: u64) {
        let Some(since_ns) = now_ns.checked_sub(self.from_ns) else { return };
        if let Some(count) = self.seconds.borrow_mut().get_mut((since_ns / SECOND_NS) as usize) {
            *count += 1;
            self.latencies.borrow_mut().note(now_ns - begun_ns);
        }
    }
}

/// Next step of a server thread.
enum Stage {
    Read,
    LockRow,
    Before,
    LockMutex,
    Inside,
    UnlockMutex,
    After,
    Log,
    UnlockRows,
    Write,
}

fn server(shape: Rc<Shape>, (up, down): (ChannelId, ChannelId)) -> impl Program + 'static {
    let mut at = Stage::Read;
    let mut number = 0;
    // The transaction's rows in ascending order, and the number of those that it has locked.
    let mut rows = [0; 3];
    let mut locked = 0;
    move |os: &mut Context<'_>| {
        loop {
            let statement = shape.statements[number];
            let inside_ns = statement.us * 1_000 / 20;
            let outside_ns = (statement.us * 1_000 - inside_ns) / 2;
            match at {
                Stage::Read => {
                    at = Stage::LockRow;
                    return Step::Read(up, BYTES);
                }
                Stage::LockRow => {
                    at = Stage::Before;
                    if number == 0 {
                        rows =
                            [(); 3].map(|()| os.random().below(shape.rows.len() as u64) as usize);
                        rows.sort_unstable();
                    }
                    if let Some(row) = statement.row.filter(|&row| row >= locked) {
                        locked = row + 1;
                        // A row that was drawn twice is locked already.
                        if row == 0 || rows[row] != rows[row - 1] {
                            return Step::Lock(shape.rows[rows[row]], 0);
                        }
                    }
                }
                Stage::Before => {
                    at = Stage::LockMutex;
                    return Step::Run(outside_ns.saturating_sub(shape.socket_read_ns));
                }
                Stage::LockMutex => {
                    at = Stage::Inside;
                    return Step::Lock(shape.mutex, shape.spin_ns);
                }
                Stage::Inside => {
                    at = Stage::UnlockMutex;
                    return Step::Run(inside_ns);
                }
                Stage::UnlockMutex => {
                    at = Stage::After;
                    return Step::Unlock(shape.mutex);
                }
                Stage::After => {
                    at = Stage::Log;
                    return Step::Run(outside_ns.saturating_sub(shape.socket_write_ns));
                }
                Stage::Log => {
                    let commits = number + 1 == shape.statements.len();
                    at = if commits { Stage::UnlockRows } else { Stage::Write };
                    if commits && shape.flush_ns > 0 {
                        return Step::Commit(shape.log, shape.flush_ns);
                    }
                }
                Stage::UnlockRows if locked == 0 => at = Stage::Write,
                Stage::UnlockRows => {
                    locked -= 1;
                    if locked == 0 || rows[locked] != rows[locked - 1] {
                        return Step::Unlock(shape.rows[rows[locked]]);
                    }
                }
                Stage::Write => {
                    number = (number + 1) % shape.statements.len();
                    at = Stage::Read;
                    return Step::Write(down, BYTES);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_takes_2385_us() {
        let server: u64 = READ_WRITE.iter().map(|statement| statement.us).sum();
        assert_eq!((READ_WRITE.len(), READ_ONLY.len()), (20, 16));
        assert_eq!((server, server + 20 * 15), (2085, 2385));
    }
}
