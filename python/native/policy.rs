//! A policy written in Python as a scheduler: every hook of the engine calls a method of it.
//!
//! What a hook asks of the machine (reschedules, timers, moves) is noted by the object that the
//! policy knows as its machine, and carried out when the hook returns. What a policy raises ends
//! the run.

use crate::slots::{self, keep};
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

/// What a policy raised, in which hook and when.
pub struct Failure {
    pub error: PyErr,
    pub hook: String,
    pub at_ns: u64,
    /// The traceback as Python prints it.
    pub traceback: String,
}

impl Failure {
    fn new(py: Python<'_>, error: PyErr, hook: &str, at_ns: u64) -> Failure {
        // Before Python 3.12 the two are apart until somebody catches the exception.
        if let Some(traceback) = error.traceback(py) {
            let _ = error.value(py).setattr("__traceback__", traceback);
        }
        let printed = || -> PyResult<String> {
            let format = py.import("traceback")?.getattr("format_exception")?;
            let lines: Vec<String> = format.call1((error.value(py),))?.extract()?;
            Ok(lines.concat())
        };
        let traceback = printed().unwrap_or_else(|_| error.to_string());
        // As users know it: the method of theirs that was called on the way.
        let named = || -> PyResult<String> {
            let failed_hook = py.import("schedlab._policy")?.getattr("failed_hook")?;
            failed_hook.call1((error.value(py), hook))?.extract()
        };
        let hook = named().unwrap_or_else(|_| hook.into());
        Failure { error, hook, at_ns, traceback }
    }

    /// Ends the run: the engine catches it where it catches a scheduler that panics.
    pub fn unwind(self, slot: usize) -> ! {
        let at_s = self.at_ns as f64 / 1e9;
        let message =
            format!("{} failed at {at_s:.6} s:\n{}", self.hook, self.traceback.trim_end());
        slots::failed(slot, self);
        std::panic::resume_unwind(Box::new(message))
    }
}

/// What a hook asked for.
#[derive(Default)]
struct Requests {
    resched: Vec<u32>,
    /// Timers to be armed at a time, or cancelled.
    timers: Vec<(u32, Option<u64>)>,
    /// Tasks that go to another CPU's queue.
    moves: Vec<(u32, u32)>,
    rule: u8,
}

/// The machine as a policy sees it.
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
        let message = format!("there is no CPU {cpu}; there are 0 to {}", self.cpus - 1);
        Err(pyo3::exceptions::PyIndexError::new_err(message))
    }
}

#[pymethods]
impl Machine {
    /// The present time, ns of virtual time since the start.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    /// Number of CPUs.
    #[getter]
    fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Ticks a second.
    #[getter]
    fn hz(&self) -> u32 {
        self.hz
    }

    /// Whether somebody wants the grounds of decisions.
    #[getter]
    fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks a CPU to call schedule in this instant.
    fn resched(&self, cpu: u32) -> PyResult<()> {
        self.check(cpu)?;
        self.with(|requests| requests.resched.push(cpu));
        Ok(())
    }

    /// Lets the hook `timer(key)` be called at this time, ns; what was pending for it is forgotten.
    fn arm_timer(&self, key: u32, at_ns: u64) {
        self.with(|requests| requests.timers.push((key, Some(at_ns))));
    }

    /// Forgets what was pending for a timer.
    fn cancel_timer(&self, key: u32) {
        self.with(|requests| requests.timers.push((key, None)));
    }

    /// A task belongs to another CPU's queue from now on.
    fn moved(&self, task: u32, cpu: u32) -> PyResult<()> {
        self.check(cpu)?;
        self.with(|requests| requests.moves.push((task, cpu)));
        Ok(())
    }

    /// Names the rule of the pick that is being made, by its number.
    fn because(&self, rule: u8) {
        self.with(|requests| requests.rule = rule);
    }

    /// It stays the same machine where a policy is copied.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// The methods of a policy that the engine calls, bound once.
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

/// A policy of Python.
pub struct PyScheduler {
    slot: usize,
    policy: Py<PyAny>,
    machine: Py<Machine>,
    hooks: Hooks,
    /// On which CPU's queue each task is.
    cpu_of: Vec<u32>,
    rules: Vec<&'static RuleDoc>,
    affinity: bool,
    /// How many hooks were called in the present instant.
    calls: u64,
}

/// So many hooks in one instant, and some for each task, no policy needs: time does not go on.
const CALLS_AT_ONCE: u64 = 500_000;

/// Attributes as a policy gets them: policy, nice, real-time priority, runtime, deadline, period.
type Attr = (&'static str, i32, u32, u64, u64, u64);

fn attr_of(attr: &SchedAttr) -> Attr {
    let policy = match attr.policy {
        Policy::Other => "other",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Fifo => "fifo",
        Policy::RoundRobin => "rr",
        Policy::Deadline => "deadline",
    };
    (policy, attr.nice, attr.rt_priority, attr.runtime_ns, attr.deadline_ns, attr.period_ns)
}

/// A candidate as a policy gives it: task, key, numbers with their names.
type Row = (u32, Vec<i64>, Vec<(String, i64)>);

fn candidate(row: &Row) -> Candidate {
    let (task, key, terms) = row;
    let mut rank = [0; 4];
    rank.iter_mut().zip(key).for_each(|(place, value)| *place = *value);
    let candidate = Candidate::task(TaskId(*task), rank);
    terms.iter().fold(candidate, |made, (name, value)| made.with(keep(name), *value))
}

/// The rules that a policy describes: pairs of a name and a sentence.
fn rules_of(policy: &Bound<'_, PyAny>) -> PyResult<Vec<&'static RuleDoc>> {
    let described: Vec<(String, String)> = policy.call_method0("_rules")?.extract()?;
    let doc = |(number, (name, text)): (u8, &(String, String))| -> &'static RuleDoc {
        crate::slots::keep_rule(RuleDoc {
            rule: Rule(number),
            question: Question::Pick,
            name: keep(name),
            text: keep(text),
        })
    };
    Ok((1..=255).zip(&described).map(doc).collect())
}

impl PyScheduler {
    /// An instance of `class` for the machine of `config`.
    pub fn new(
        py: Python<'_>,
        slot: usize,
        class: Option<Py<PyAny>>,
        config: &BuildConfig,
    ) -> Result<PyScheduler, Failure> {
        let make = || -> PyResult<PyScheduler> {
            let class = class
                .ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("its slot is empty"))?;
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
            let class = class.bind(py);
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
            let cpu_of = vec![];
            Ok(PyScheduler { slot, policy, machine, hooks, cpu_of, rules, affinity, calls: 0 })
        };
        make().map_err(|error| Failure::new(py, error, "its making", 0))
    }

    /// Calls a hook, and carries out what it asks of the machine.
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
                "virtual time does not go on: {} hooks were called in this instant; a CPU that is \
                 asked to reschedule whenever it does, or a timer armed for the past, stops it",
                self.calls
            );
            let error = pyo3::exceptions::PyRuntimeError::new_err(message);
            Failure::new(py, error, hook, platform.now_ns()).unwind(self.slot)
        }
        let returned = method(&self.hooks).bind(py).call1(arguments);
        match returned {
            Ok(returned) => {
                self.carry_out(platform);
                returned
            }
            Err(error) => Failure::new(py, error, hook, platform.now_ns()).unwind(self.slot),
        }
    }

    fn carry_out(&mut self, platform: &mut Platform) {
        // The rule stays until the next pick.
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

    /// What went wrong with an answer of the policy.
    fn expect<T>(&self, py: Python<'_>, hook: &str, platform: &Platform, answer: PyResult<T>) -> T {
        match answer {
            Ok(answer) => answer,
            Err(error) => Failure::new(py, error, hook, platform.now_ns()).unwind(self.slot),
        }
    }

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
            let answer = self.call(py, platform, "fork", |hooks| &hooks.fork, arguments);
            let cpu: u32 = self.expect(py, "fork", platform, answer.extract());
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
            let answer = self.call(py, platform, "pick", |hooks| &hooks.schedule, (cpu.0,));
            let next: Option<u32> = self.expect(py, "pick", platform, answer.extract());
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

/// A tunable of a policy: name, present value, least, most, help.
type TunableRow = (String, i64, i64, i64, String);

impl PyScheduler {
    /// What was raised to end the program (`KeyboardInterrupt`) ends the run, wherever the policy
    /// was when it came.
    fn pass_on_signal(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if error.is_instance_of::<PyException>(py) {
            return error;
        }
        Failure::new(py, error, "a signal", 0).unwind(self.slot)
    }

    /// Asks the policy something; that it cannot answer ends the run.
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
            let answer = self.policy.bind(py).call_method1(method, arguments.bind(py));
            let answer = answer.and_then(|answer| answer.extract::<T>().map_err(Into::into));
            match answer {
                Ok(answer) => answer,
                Err(error) => {
                    let now_ns = self.machine.get().now_ns();
                    Failure::new(py, error, hook, now_ns).unwind(self.slot)
                }
            }
        })
    }
}

fn nothing(py: Python<'_>) -> Py<PyTuple> {
    PyTuple::empty(py).unbind()
}

impl Inspect for PyScheduler {
    fn rules(&self) -> Vec<&'static RuleDoc> {
        self.rules.clone()
    }

    fn tunables(&self) -> Vec<Tunable> {
        let rows: Vec<TunableRow> = self.ask("tunables", "_tunables", nothing);
        rows.iter()
            .map(|(name, value, least, most, help)| Tunable {
                name: name.clone().into(),
                value: *value,
                range: (*least, *most),
                help: keep(help),
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
