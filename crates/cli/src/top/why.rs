//! Explanations of CPUs and tasks: the run is repeated on another thread, and examined.

use super::state::{Question, Subject};
use crate::Failure;
use crate::commands::explain::words::Explainer;
use crate::commands::explain::{nice, refresh};
use schedlab_core::CpuId;
use schedlab_lab::explain::{self, Effort};
use schedlab_lab::plan::{Contender, Prepared};
use schedlab_report::Style;
use schedlab_report::format::duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};

/// Explanation that a thread is finding. When it is no longer awaited, the search stops as soon as
/// the current run ends.
pub struct PendingExplanation {
    answer: Receiver<Result<String, String>>,
    in_vain: Arc<AtomicBool>,
}

impl Drop for PendingExplanation {
    fn drop(&mut self) {
        self.in_vain.store(true, Ordering::Relaxed);
    }
}

impl PendingExplanation {
    /// Starts the search.
    pub fn seek(
        prepared: &Arc<Prepared>,
        scheduler: &Contender,
        question: Question,
    ) -> PendingExplanation {
        let (found, answer) = mpsc::channel();
        let (prepared, scheduler) = (prepared.clone(), scheduler.clone());
        let style = Style { color: false, ..crate::terminal::style() };
        let in_vain: Arc<AtomicBool> = Arc::default();
        let given_up = in_vain.clone();
        std::thread::spawn(move || {
            // The result is discarded if it is no longer awaited.
            let _ = found.send(answer_to(&prepared, &scheduler, question, style, &given_up));
        });
        PendingExplanation { answer, in_vain }
    }

    /// Returns the explanation, once it is found.
    pub fn found(&self) -> Option<Result<String, String>> {
        match self.answer.try_recv() {
            Ok(found) => Some(found),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("no explanation was found".into())),
        }
    }
}

fn answer_to(
    prepared: &Prepared,
    scheduler: &Contender,
    question: Question,
    style: Style,
    given_up: &AtomicBool,
) -> Result<String, String> {
    let at_ns = question.at_ns;
    let mut standing = explain::moment(prepared, scheduler, at_ns).map_err(|e| e.to_string())?;
    if let Some(ended_ns) = standing.ended_ns {
        return Err(format!("the run ended at {}", duration(ended_ns, style.unicode)));
    }
    let words = Explainer::new(&standing.names, style);
    let said = |failure| match failure {
        Failure::Message(message) => message,
        Failure::Output(error) => error.to_string(),
    };
    let effort = Effort::default();
    let cpu = match question.subject {
        Subject::Task(task) => standing.tasks.get(task.index()).and_then(|row| row.cpu),
        Subject::Cpu(number) => Some(CpuId(number)),
    };
    if let Some(cpu) = cpu {
        refresh(prepared, scheduler, &mut standing, cpu, &effort).map_err(said)?;
    }
    match question.subject {
        Subject::Task(task) => Ok(words.task(&standing, task)),
        Subject::Cpu(number) => {
            let cpu = CpuId(number);
            let wins = |task| match given_up.load(Ordering::Relaxed) {
                true => Err(Failure::Message("the explanation is no longer needed".into())),
                false => nice(prepared, scheduler, &standing, cpu, task, &effort),
            };
            let text = words.cpu(&standing, cpu, wins).map_err(said)?;
            Ok(format!("{}\n{text}", words.moment(&standing)))
        }
    }
}
