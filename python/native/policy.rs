//! A policy written in Python as a scheduler: every hook of the engine calls one of its methods.
//!
//! The object that the policy knows as its machine collects what a hook requests (reschedules,
//! timers, moves); the requests are carried out when the hook returns. An exception ends the run.

use crate::failure::{Failure, LastFailure};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use schedlab_core::control::{Command, ControlError, Reply};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, CpuId, CpuSet, Evidence, Inspect, Load, Parent, Platform,
    Policy, Promises, Question, Rule, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey,
    TimerPhase, Tunable, TunableError, Waker,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests of a hook to the machine.
#[derive(Default)]
struct Requests {
    resched: Vec<u32>,
    /// Timers to arm at a time; `None`: to cancel.
    timers: Vec<(u32, Option<u64>)>,
    /// Tasks that move to another CPU's queue.
    moves: Vec<(u32, u32)>,
    rule: u8,
}

/// The machine that a policy runs on.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Machine {
    now_ns: AtomicU64,
    cpus: u32,
    hz: u32,
    asked: AtomicBool,
    requests: Mutex<Requests>,
}

impl Machine {
    fn with<R>(&self, act: impl FnOnce(&mut Requests) -> R) -> R {
        let mut requests = self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        act(&mut requests)
    }

    fn check(&self, cpu: u32) -> PyResult<()> {
        if cpu < self.cpus {
            return Ok(());
        }
        let message = format!("there is no CPU {cpu}; the CPUs are 0 to {}", self.cpus - 1);
        Err(pyo3::exceptions::PyIndexError::new_err(message))
    }
}

#[pymethods]
impl Machine {
    /// Returns the current virtual time since the start, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    /// Returns the number of CPUs.
    #[getter]
    fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Returns the ticks per second.
    #[getter]
    fn hz(&self) -> u32 {
        self.hz
    }

    /// Whether the grounds of decisions are requested.
    #[getter]
    fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Requests that a CPU calls schedule in this instant.
    fn resched(&self, cpu: u32) -> PyResult<()> {
        self.check(cpu)?;
        self.with(|requests| requests.resched.push(cpu));
        Ok(())
    }

    /// Arms a timer: the hook `timer(key)` is called at this time, ns. Replaces a pending one.
    fn arm_timer(&self, key: u32, at_ns: u64) {
        self.with(|requests| requests.timers.push((key, Some(at_ns))));
    }

    /// Cancels a timer, if it is pending.
    fn cancel_timer(&self, key: u32) {
        self.with(|requests| requests.timers.push((key, None)));
    }

    /// Reports that a task now belongs to another CPU's queue.
    fn moved(&self, task: u32, cpu: u32) -> PyResult<()> {
        self.check(cpu)?;
        self.with(|requests| requests.moves.push((task, cpu)));
        Ok(())
    }

    /// Names the rule of the current pick by its number.
    fn because(&self, rule: u8) {
        self.with(|requests| requests.rule = rule);
    }

    /// A copy of a policy keeps the same machine.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// The bound methods of a policy that the engine calls.
struct Hooks {
    fork: Py<PyAny>,
    wake: Py<PyAny>,
    block: Py<PyAny>,
    kill: Py<PyAny>,
    schedule: Py<PyAny>,
    tick: Py<PyAny>,
    yield_now: Py<PyAny>,
    set_attr: Py<PyAny>,
    set_affinity: Py<PyAny>,
    timer: Py<PyAny>,
}

/// An instance of a policy, as a scheduler of one machine.
pub struct PyScheduler {
    failure: LastFailure,
    policy: Py<PyAny>,
    machine: Py<Machine>,
    hooks: Hooks,
    /// The CPU on whose queue each task is.
    cpu_of: Vec<u32>,
    rules: Vec<RuleDoc>,
    affinity: bool,
    /// Number of hooks called in the current instant.
    calls: u64,
}

/// Number of hooks called in one instant, besides some for each task, from which virtual time
/// counts as stopped. No sound policy needs as many.
const CALLS_AT_ONCE: u64 = 500_000;

/// Attributes as passed to a policy: policy, nice, real-time priority, runtime, deadline, period.
type Attr = (&'static str, i32, u32, u64, u64, u64);

fn attr_of(attr: &SchedAttr) -> Attr {
    let policy = match attr.policy {
        Policy::Other => "other",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Fifo => "fifo",
        Policy::RoundRobin => "rr",
        Policy::Deadline => "deadline",
        Policy::Iso => "iso",
    };
    (policy, attr.nice, attr.rt_priority, attr.runtime_ns, attr.deadline_ns, attr.period_ns)
}

/// A candidate as returned by a policy: task, key, numbers with their names.
type Row = (u32, Vec<i64>, Vec<(String, i64)>);

fn candidate(row: &Row) -> Candidate {
    let (task, key, terms) = row;
    let mut rank = [0; 4];
    rank.iter_mut().zip(key).for_each(|(place, value)| *place = *value);
    let candidate = Candidate::task(TaskId(*task), rank);
    terms.iter().fold(candidate, |made, (name, value)| made.with(name.clone(), *value))
}

/// Returns the rules that a policy describes: pairs of a name and a sentence.
fn rules_of(policy: &Bound<'_, PyAny>) -> PyResult<Vec<RuleDoc>> {
    let described: Vec<(String, String)> = policy.call_method0("_rules")?.extract()?;
    let doc = |(number, (name, text)): (u8, (String, String))| RuleDoc {
        rule: Rule(number),
        question: Question::Pick,
        name: name.into(),
        text: text.into(),
    };
    Ok((1..=255).zip(described).map(doc).collect())
}

impl PyScheduler {
    /// Creates an instance of `class` for the machine of `config`. What its hooks raise goes to
    /// `failure`.
    ///
    /// # Errors
    /// Exception that the class raised during the run.
    pub fn new(
        class: &Bound<'_, PyAny>,
        failure: &LastFailure,
        config: &BuildConfig,
    ) -> Result<PyScheduler, Failure> {
        let py = class.py();
        let make = || -> PyResult<PyScheduler> {
            let cpus = config.topology.cpus();
            let machine = Py::new(
                py,
                Machine {
                    now_ns: AtomicU64::new(0),
                    cpus,
                    hz: config.hz,
                    asked: AtomicBool::new(false),
                    requests: Mutex::default(),
                },
            )?;
            let policy = class.call_method1("_make", (&machine,))?;
            let method = |name: &str| policy.getattr(name).map(Bound::unbind);
            let hooks = Hooks {
                fork: method("_fork")?,
                wake: method("_wake")?,
                block: method("_block")?,
                kill: method("_kill")?,
                schedule: method("_schedule")?,
                tick: method("_tick")?,
                yield_now: method("_yield")?,
                set_attr: method("_set_attr")?,
                set_affinity: method("_set_affinity")?,
                timer: method("_timer")?,
            };
            let rules = rules_of(&policy)?;
            let affinity = policy.getattr("affinity")?.extract()?;
            let policy = policy.unbind();
            let (failure, cpu_of) = (failure.clone(), vec![]);
            Ok(PyScheduler { failure, policy, machine, hooks, cpu_of, rules, affinity, calls: 0 })
        };
        make().map_err(|error| Failure::new(py, error, "its making", 0))
    }

    /// Calls a hook and carries out its requests.
    fn call<'py, A>(
        &mut self,
        py: Python<'py>,
        platform: &mut Platform,
        hook: &str,
        method: impl Fn(&Hooks) -> &Py<PyAny>,
        arguments: A,
    ) -> Bound<'py, PyAny>
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let machine = self.machine.get();
        let before_ns = machine.now_ns.swap(platform.now_ns(), Ordering::Relaxed);
        self.calls = if before_ns == platform.now_ns() { self.calls + 1 } else { 0 };
        if self.calls > CALLS_AT_ONCE + 64 * self.cpu_of.len() as u64 {
            let message = format!(
                "virtual time does not advance: {} hooks were called in this instant; a CPU that is \
                 asked to reschedule whenever it does, or a timer armed for the past, stops it",
                self.calls
            );
            let error = pyo3::exceptions::PyRuntimeError::new_err(message);
            self.failure.unwind(Failure::new(py, error, hook, platform.now_ns()))
        }
        let returned = method(&self.hooks).bind(py).call1(arguments);
        match returned {
            Ok(returned) => {
                self.carry_out(platform);
                returned
            }
            Err(error) => self.failure.unwind(Failure::new(py, error, hook, platform.now_ns())),
        }
    }

    fn carry_out(&mut self, platform: &mut Platform) {
        // The rule holds until the next pick.
        let requests = self.machine.get().with(|requests| {
            let rule = requests.rule;
            std::mem::replace(requests, Requests { rule, ..Requests::default() })
        });
        for cpu in requests.resched {
            platform.resched(CpuId(cpu));
        }
        for (key, at_ns) in requests.timers {
            match at_ns {
                Some(at_ns) => {
                    platform.arm_timer(TimerKey(key), TimerPhase::BeforeTicks, at_ns);
                }
                None => platform.cancel_timer(TimerKey(key)),
            }
        }
        for (task, to) in requests.moves {
            self.moved(platform, TaskId(task), to);
        }
    }

    fn moved(&mut self, platform: &mut Platform, task: TaskId, to: u32) {
        if let Some(cpu) = self.cpu_of.get_mut(task.index()) {
            let from = std::mem::replace(cpu, to);
            if from != to {
                platform.migrated(task, CpuId(from), CpuId(to));
            }
        }
    }

    /// Unwraps a value that the policy returned. An error ends the run.
    fn expect<T>(&self, py: Python<'_>, hook: &str, platform: &Platform, value: PyResult<T>) -> T {
        match value {
            Ok(value) => value,
            Err(error) => self.failure.unwind(Failure::new(py, error, hook, platform.now_ns())),
        }
    }

    /// Returns the CPUs that `allowed` names, for the policy; `None`: all of them.
    fn allowed(&self, py: Python<'_>, allowed: &CpuSet) -> Option<Py<PyList>> {
        let cpus = self.machine.get().cpus;
        if !self.affinity || allowed.count(cpus) == cpus {
            return None;
        }
        let list = PyList::new(py, allowed.iter(cpus).map(|cpu| cpu.0));
        list.ok().map(Bound::unbind)
    }
}

impl Scheduler for PyScheduler {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        Python::attach(|py| {
            let allowed = self.allowed(py, &attr.allowed);
            let parent = match parent {
                Parent::External => None,
                Parent::Task { task, .. } => Some(task.0),
            };
            let arguments = (task.0, attr_of(&attr.sched), allowed, attr.group.0, parent);
            let returned = self.call(py, platform, "fork", |hooks| &hooks.fork, arguments);
            let cpu: u32 = self.expect(py, "fork", platform, returned.extract());
            if self.cpu_of.len() <= task.index() {
                self.cpu_of.resize(task.index() + 1, 0);
            }
            self.cpu_of[task.index()] = cpu;
        });
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let by = match waker {
            Waker::Task { task, .. } => Some(task.0),
            Waker::Interrupt { .. } | Waker::Process { .. } => None,
        };
        Python::attach(|py| {
            self.call(py, platform, "wake", |hooks| &hooks.wake, (task.0, by, waker.cpu().0));
        });
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        let dead = reason == BlockReason::Dead;
        Python::attach(|py| {
            self.call(py, platform, "block", |hooks| &hooks.block, (task.0, cpu.0, dead));
        });
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        Python::attach(|py| {
            self.call(py, platform, "kill", |hooks| &hooks.kill, (task.0,));
        });
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        Python::attach(|py| {
            let asked = platform.is_asked();
            let machine = self.machine.get();
            machine.asked.store(asked, Ordering::Relaxed);
            machine.because(1);
            let returned = self.call(py, platform, "pick", |hooks| &hooks.schedule, (cpu.0,));
            let next: Option<u32> = self.expect(py, "pick", platform, returned.extract());
            let rule = Rule(self.machine.get().with(|requests| requests.rule));
            let rows: Vec<Row> = match asked {
                true => {
                    let rows = self.policy.bind(py).getattr("_grounds");
                    let rows = rows.and_then(|rows| rows.extract());
                    self.expect(py, "why", platform, rows)
                }
                false => vec![],
            };
            platform.because(Question::Pick, cpu, rule, |evidence: &mut Evidence| {
                evidence.candidates.extend(rows.iter().map(candidate));
            });
            if let Some(task) = next {
                self.moved(platform, TaskId(task), cpu.0);
            }
            next.map(TaskId)
        })
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        CpuId(self.cpu_of.get(task.index()).copied().unwrap_or(0))
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        Python::attach(|py| {
            self.call(py, platform, "tick", |hooks| &hooks.tick, (cpu.0,));
        });
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        Python::attach(|py| {
            self.call(py, platform, "yield_", |hooks| &hooks.yield_now, (task.0, cpu.0));
        });
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let _ = by;
        Python::attach(|py| {
            let arguments = (task.0, attr_of(attr));
            self.call(py, platform, "set_attr", |hooks| &hooks.set_attr, arguments);
        });
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        if !self.affinity {
            return;
        }
        Python::attach(|py| {
            let arguments = (task.0, self.allowed(py, allowed));
            self.call(py, platform, "set_affinity", |hooks| &hooks.set_affinity, arguments);
        });
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        Python::attach(|py| {
            self.call(py, platform, "timer", |hooks| &hooks.timer, (key.0,));
        });
    }

    fn control(
        &mut self,
        _platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        let Command::SetTunable { name, value } = command else {
            return Err(command.unsupported());
        };
        let tunables = self.tunables();
        let Some(tunable) = tunables.iter().find(|tunable| tunable.name == name) else {
            let known = tunables.iter().map(|tunable| tunable.name.clone()).collect();
            return Err(TunableError::Unknown { known }.into());
        };
        tunable.check(value)?;
        let set = Python::attach(|py| self.policy.bind(py).setattr(name, value));
        set.map_err(|error| ControlError::from(TunableError::Refused(error.to_string())))?;
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

/// A tunable of a policy: name, current value, smallest and largest value.
type TunableRow = (String, i64, i64, i64);

impl PyScheduler {
    /// Ends the run if `error` was raised to end the program (`KeyboardInterrupt`); returns any
    /// other error.
    fn pass_on_signal(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if error.is_instance_of::<PyException>(py) {
            return error;
        }
        self.failure.unwind(Failure::new(py, error, "a signal", 0))
    }

    /// Calls a method that asks the policy about itself. An exception ends the run.
    fn ask<T>(
        &self,
        hook: &str,
        method: &str,
        arguments: impl FnOnce(Python<'_>) -> Py<PyTuple>,
    ) -> T
    where
        T: for<'a, 'py> FromPyObject<'a, 'py>,
    {
        Python::attach(|py| {
            let arguments = arguments(py);
            let returned = self.policy.bind(py).call_method1(method, arguments.bind(py));
            let value = returned.and_then(|value| value.extract::<T>().map_err(Into::into));
            match value {
                Ok(value) => value,
                Err(error) => {
                    let now_ns = self.machine.get().now_ns();
                    self.failure.unwind(Failure::new(py, error, hook, now_ns))
                }
            }
        })
    }
}

/// Returns no arguments.
fn nothing(py: Python<'_>) -> Py<PyTuple> {
    PyTuple::empty(py).unbind()
}

impl Inspect for PyScheduler {
    fn rules(&self) -> Vec<&RuleDoc> {
        self.rules.iter().collect()
    }

    fn tunables(&self) -> Vec<Tunable> {
        let rows: Vec<TunableRow> = self.ask("tunables", "_tunables", nothing);
        rows.iter()
            .map(|(name, value, least, most)| Tunable {
                name: name.clone().into(),
                value: *value,
                range: (*least, *most),
                help: "an attribute of the policy",
            })
            .collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let cpu = |py: Python<'_>| match PyTuple::new(py, [cpu.0]) {
            Ok(arguments) => arguments.unbind(),
            Err(_) => nothing(py),
        };
        let rows: Vec<Row> = self.ask("why", "_candidates", cpu);
        out.extend(rows.iter().map(candidate));
    }

    fn promises(&self, load: &Load) -> Promises {
        let load = |py: Python<'_>| match PyTuple::new(py, [load.tasks, load.cpus]) {
            Ok(arguments) => arguments.unbind(),
            Err(_) => nothing(py),
        };
        let (idle_beside_waiting_ns, wait_ns, hog_spread_ns) =
            self.ask("promises", "_promises", load);
        Promises { idle_beside_waiting_ns, wait_ns, hog_spread_ns, ..Promises::default() }
    }

    fn audit(&self) -> Result<(), String> {
        Python::attach(|py| match self.policy.bind(py).call_method0("audit") {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(Failure::new(py, self.pass_on_signal(py, error), "audit", 0).traceback)
            }
        })
    }
}
