//! Queries about the scheduler, and consistency checks.

use super::super::{ClassId, Pid, deadline, rt};
use super::{Core6, FairClass6, rules};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, Difference, GroupId, GroupStats, Inspect, Load, Promises, Refused, RuleDoc,
    Tunable, Who,
};

impl<F: FairClass6> Inspect for Core6<F> {
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        self.check_group(group)?;
        Ok(self.fair.group_stats(group))
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = self.fair.tunables();
        all.extend(self.limit_tunables());
        all.extend(self.deadline.tunables());
        if self.fair.has_fair_server() {
            all.extend(self.deadline.fair_server_tunables());
        }
        all
    }

    fn differences(&self) -> Vec<Difference> {
        self.fair.differences()
    }

    fn promises(&self, load: &Load) -> Promises {
        Promises { real_time_first: true, ..self.fair.promises(load) }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        let urgent = rules::RULES.iter().chain(rt::rules::RULES).chain(deadline::rules::RULES);
        urgent.chain(self.fair.rules().into_iter().flatten()).collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let rqs = &self.core;
        let before = out.len();
        if !self.deadline.fair_server_leads(rqs, cpu) || !self.fair.is_wanted(cpu) {
            self.deadline.candidates(rqs, cpu, out);
            // The server of a class without tasks is no candidate.
            let server = Who::Kernel("fair_server");
            let wanted = self.fair.is_wanted(cpu);
            out.retain(|candidate| wanted || candidate.who != server);
            if out.len() == before {
                self.rt.candidates(rqs, cpu, out);
            }
        }
        if out.len() == before {
            self.fair.candidates(rqs, cpu, out);
        }
    }

    fn describe_domains(&self) -> Option<String> {
        Some(self.fair.describe_domains(&self.core))
    }

    fn audit(&self) -> Result<(), String> {
        // The stopper counts while it waits to run.
        let mut found: Vec<u32> =
            self.core.rqs.iter().map(|rq| u32::from(rq.stopper_waits)).collect();
        for (number, thread) in (0..).zip(&self.core.threads) {
            let counts = thread.on_rq
                && match thread.class {
                    ClassId::Idle => false,
                    ClassId::Fair => !self.fair.throttled_hierarchy(Pid(number)),
                    ClassId::Rt => self.rt.counts(thread.cpu),
                    ClassId::Deadline => !self.deadline.is_throttled(Pid(number)),
                };
            if counts {
                found[thread.cpu.index()] += 1;
            }
        }
        for (cpu, (counted, found)) in self.core.nr_running.iter().zip(&found).enumerate() {
            if counted != found {
                return Err(alloc::format!(
                    "CPU {cpu}: nr_running is {counted}, but {found} threads are on it"
                ));
            }
        }
        self.rt.audit(&self.core)?;
        self.deadline.audit(&self.core)?;
        self.fair.audit(&self.core)
    }
}
