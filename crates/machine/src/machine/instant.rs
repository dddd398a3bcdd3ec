//! The event loop: the order of events within one instant.

use super::Machine;
use super::config::{RunEnd, TaskState};
use super::due::Due;
use crate::order::{Order, SplitMix64};
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::{Account, CpuId, Event, Observer, Scheduler, TaskId, TimerKey, TimerPhase};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Runs until just before `until_ns`: events at that time do not happen.
    ///
    /// # Errors
    /// If the workload cannot continue.
    pub fn run(&mut self, until_ns: u64) -> Result<RunEnd, W::Error> {
        let end = self.run_to(until_ns)?;
        self.observer.on(self.now_ns, Event::Finished);
        Ok(end)
    }

    /// Runs like [`run`](Machine::run), but the run can be continued: the observer gets no
    /// [`Event::Finished`] at the end.
    ///
    /// # Errors
    /// If the workload cannot continue.
    pub fn run_to(&mut self, until_ns: u64) -> Result<RunEnd, W::Error> {
        // Actions at the current instant have their consequences in it, even if no other event
        // falls on it.
        if self.now_ns < until_ns
            && (self.platform.next_resched(0).is_some() || !self.is_over(self.now_ns))
        {
            self.run_instant()?;
        }
        loop {
            if self.alive == 0 {
                return Ok(RunEnd::AllEnded);
            }
            // Stopped and frozen tasks may yet be released.
            if self.runnable == 0
                && self.sleepers.is_empty()
                && !(self.held > 0 && self.releases_expected)
            {
                return Ok(RunEnd::Stuck);
            }
            let next_ns = self
                .completions
                .earliest()
                .min(self.sleepers.earliest())
                .min(self.timers[0].earliest())
                .min(self.timers[1].earliest())
                .min(self.ticks.next_ns())
                .min(self.next_put_off_ns());
            if next_ns >= until_ns {
                self.now_ns = until_ns;
                return Ok(RunEnd::TimeUp);
            }
            self.now_ns = next_ns;
            self.run_instant()?;
        }
    }

    /// Returns the task that `cpu` would pick if it rescheduled at `at_ns`, and the grounds. No
    /// event after that time may have happened yet. The call changes the scheduler only, so the run
    /// cannot be continued afterwards.
    pub fn would_pick(&mut self, cpu: CpuId, at_ns: u64) -> (Option<TaskId>, Vec<Account>) {
        if self.is_offline(cpu) {
            return (None, Vec::new());
        }
        self.platform.set_now_ns(at_ns);
        self.platform.ask(true);
        let done_ns = self.completions.get(cpu.index());
        if let Some(task) = self.current[cpu.index()]
            && done_ns != NEVER
        {
            self.interrupt_work(task, done_ns - at_ns);
        }
        self.platform.clear_resched(cpu);
        self.platform.forget_rules();
        let next = self.scheduler.schedule(&mut self.platform, cpu);
        (next, self.platform.take_accounts())
    }

    /// Processes all events of the current nanosecond.
    #[inline]
    fn run_instant(&mut self) -> Result<(), W::Error> {
        self.platform.set_now_ns(self.now_ns);
        self.take_due_reschedules();
        match &mut self.order {
            Order::Golden => self.instant(),
            Order::Shuffled(random) => {
                let mut random = random.clone();
                self.shuffled_instant(&mut random)?;
                self.order = Order::Shuffled(random);
                Ok(())
            }
        }
    }

    /// Processes all events of the current nanosecond, in the golden order.
    fn instant(&mut self) -> Result<(), W::Error> {
        let now_ns = self.now_ns;
        loop {
            while self.completions.earliest() == now_ns {
                let cpu = CpuId(self.completions.earliest_slot() as u32);
                self.work_ended(cpu)?;
            }
            self.fire_timers(TimerPhase::BeforeWakeups);
            while self.sleepers.earliest() == now_ns {
                let (_, task) =
                    self.sleepers.pop().expect("a heap with an earliest time is not empty");
                self.start_or_wake(TaskId(task));
            }
            self.fire_timers(TimerPhase::BeforeTicks);
            while self.ticks.next_ns() == now_ns {
                self.tick();
            }
            while let Some(key) = self.overdue.pop_front() {
                self.scheduler.timer(&mut self.platform, key);
                self.apply_requests();
            }
            self.softirqs();
            self.reschedules();
            if self.is_over(now_ns) {
                return Ok(());
            }
        }
    }

    /// Reschedules the CPUs that were asked to, in ascending order, round after round until none is
    /// left.
    #[inline]
    pub(super) fn reschedules(&mut self) {
        if self.costs.is_some() {
            return self.reschedules_when_free();
        }
        let mut from = 0;
        loop {
            match self.platform.next_resched(from) {
                Some(cpu) => {
                    self.reschedule(cpu);
                    from = cpu.0 + 1;
                }
                None if from == 0 => break,
                None => from = 0,
            }
        }
    }

    /// Runs the softirqs that ticks have raised. Each runs after the CPUs without softirqs have
    /// rescheduled and before its own CPU does.
    #[inline]
    fn softirqs(&mut self) {
        if self.late_softirqs {
            self.late_softirqs();
        }
    }

    #[cold]
    fn late_softirqs(&mut self) {
        let mut from = 0;
        while let Some(cpu) = self.platform.next_resched(from) {
            if self.costs.is_none() && !self.platform.softirq_pending(cpu) {
                self.reschedule(cpu);
            }
            from = cpu.0 + 1;
        }
        while let Some(cpu) = self.platform.take_softirq() {
            self.scheduler.softirq(&mut self.platform, cpu);
            self.apply_requests();
        }
    }

    /// Whether no event is left at `now_ns`.
    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        self.completions.earliest() != now_ns
            && self.sleepers.earliest() != now_ns
            && self.timers[0].earliest() != now_ns
            && self.timers[1].earliest() != now_ns
            && self.overdue.is_empty()
    }

    /// Processes all events of the current nanosecond, simultaneous events in random order.
    fn shuffled_instant(&mut self, random: &mut SplitMix64) -> Result<(), W::Error> {
        let now_ns = self.now_ns;
        let mut due = std::mem::take(&mut self.due);
        loop {
            due.clear();
            while self.completions.earliest() == now_ns {
                let slot = self.completions.earliest_slot();
                self.completions.set(slot, NEVER);
                due.push(Due::Completion(CpuId(slot as u32)));
            }
            while self.sleepers.earliest() == now_ns {
                let (_, task) =
                    self.sleepers.pop().expect("a heap with an earliest time is not empty");
                due.push(Due::Sleeper(TaskId(task)));
            }
            for phase in [TimerPhase::BeforeWakeups, TimerPhase::BeforeTicks] {
                while self.timers[phase as usize].earliest() == now_ns {
                    let (_, key) = self.timers[phase as usize]
                        .pop()
                        .expect("a heap with an earliest time is not empty");
                    due.push(Due::Timer(phase, TimerKey(key)));
                }
            }
            due.extend(
                self.overdue.drain(..).rev().map(|key| Due::Timer(TimerPhase::BeforeTicks, key)),
            );
            while self.ticks.next_ns() == now_ns {
                self.platform.set_jiffies(self.ticks.number());
                due.push(Due::Tick(self.ticks.take()));
            }
            random.shuffle(&mut due);
            for &event in &due {
                match event {
                    // A task that was killed or frozen in this instant, before its completion, ends
                    // no work.
                    Due::Completion(cpu) if !self.runs_a_task(cpu) => {}
                    Due::Completion(cpu) => self.work_ended(cpu)?,
                    Due::Sleeper(task) => self.start_or_wake(task),
                    Due::Tick(cpu) => self.tick_of(cpu),
                    Due::Timer(_, key) => {
                        self.scheduler.timer(&mut self.platform, key);
                        self.apply_requests();
                    }
                }
            }
            self.softirqs();
            let cpus = u64::from(self.platform.cpus());
            if self.costs.is_some() {
                self.reschedules_when_free();
            }
            while self.costs.is_none() && self.platform.next_resched(0).is_some() {
                let from = random.below(cpus) as u32;
                let cpu =
                    self.platform.next_resched(from).or_else(|| self.platform.next_resched(0));
                self.reschedule(cpu.expect("a CPU has a pending reschedule"));
            }
            if self.is_over(now_ns) {
                self.due = due;
                return Ok(());
            }
        }
    }

    /// Whether the task that has `cpu` is still runnable.
    fn runs_a_task(&self, cpu: CpuId) -> bool {
        let task = self.current[cpu.index()];
        task.is_some_and(|task| self.tasks[task.index()].state == TaskState::Running)
    }

    fn fire_timers(&mut self, phase: TimerPhase) {
        while self.timers[phase as usize].earliest() == self.now_ns {
            let (_, key) = self.timers[phase as usize]
                .pop()
                .expect("a heap with an earliest time is not empty");
            self.scheduler.timer(&mut self.platform, TimerKey(key));
            self.apply_requests();
        }
    }

    #[inline]
    fn tick(&mut self) {
        self.platform.set_jiffies(self.ticks.number());
        let cpu = self.ticks.take();
        self.tick_of(cpu);
    }

    #[inline]
    fn tick_of(&mut self, cpu: CpuId) {
        if self.is_offline(cpu) {
            return;
        }
        self.counts.ticks += 1;
        self.enter_kernel(cpu);
        self.scheduler.tick(&mut self.platform, cpu);
        self.charge_tick(cpu);
        self.apply_requests();
        self.observer.on(self.now_ns, Event::Ticked { cpu });
    }
}
