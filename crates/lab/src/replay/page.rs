//! A report as a page for a browser: [`ReplayPage`]. The reliability and the table with its bands
//! come first, then the recording and one run of each column on one time axis.

use super::Prepared;
use super::ensemble::{Endless, stops};
use super::lead::Lead;
use super::report::ReplayReport;
use super::runner::Runner;
use super::table::{Change, Shown, Table};
use crate::error::Error;
use crate::parallel;
use crate::recorded::Recorded;
use schedlab_measure::history::{History, Recorder};
use schedlab_report::data::WorkloadInfo;
use schedlab_report::html::replay::{self as sections, Difference, Figure, Group, Row};
use schedlab_report::html::{self, Page, Recording, RuleRow, TURNS_MOST};
use schedlab_report::{Report, RunReport};
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// Maximum number of turns that the recorders of all runs keep together.
const TURNS_RECORDED: usize = 2_000_000;

/// Maximum number of groups of tasks in the table.
const GROUPS_MAX: usize = 40;

/// Returns the number of turns kept of each of `columns` columns, including the recording.
fn turns_of_each(columns: usize) -> usize {
    (TURNS_RECORDED / columns.max(1)).min(TURNS_MOST)
}

/// Contents of a report's page.
pub struct ReplayPage {
    report: Report,
    names: Vec<String>,
    histories: Vec<Option<History>>,
    rules: Vec<Vec<RuleRow>>,
    what: String,
    sections: Vec<html::Section>,
}

impl Prepared {
    /// Returns the number of turns of the recorded schedule that a page keeps.
    pub fn turns_of_each(&self) -> usize {
        turns_of_each(self.setup.columns.len() + 1)
    }

    /// Builds the page of `report`. `recorded` is the recorded schedule, with its history. All
    /// columns run once more, unchanged (seed 0), on `threads` threads.
    ///
    /// # Errors
    /// A run broke down.
    pub fn page(
        &self,
        report: &ReplayReport,
        recorded: Recorded,
        threads: NonZeroUsize,
    ) -> Result<ReplayPage, Error> {
        let columns = &self.setup.columns;
        let most = self.turns_of_each();
        let observe = |column: &Runner| self.observed(column, most);
        let mut runs = vec![recorded.run.clone()];
        let mut histories = vec![recorded.history.clone()];
        let mut rules = vec![vec![]];
        for (column, observed) in columns.iter().zip(parallel::map(columns, threads, observe)) {
            let (run, history) = observed?;
            runs.push(run);
            histories.push(Some(history));
            let build = column.config.build_config(&column.choice);
            let scheduler = column.choice.build(&build)?;
            let docs = scheduler.inspect().rules().into_iter();
            rules.push(docs.map(|doc| (doc.rule.0, doc.name.clone(), doc.text.clone())).collect());
        }
        let table = Table::new(report, GROUPS_MAX);
        let mut names = table.columns.clone();
        if !report.changed.is_empty() {
            let changed = report.changed.join("; ");
            names.iter_mut().skip(2).for_each(|name| *name = format!("{name}, {changed}"));
        }
        // Charts that are drawn alone identify a run by its scheduler's name.
        for (run, name) in runs.iter_mut().zip(&names) {
            run.scheduler.name.clone_from(name);
        }
        let workload = WorkloadInfo {
            name: report.name.clone(),
            duration_ns: report.trace.span_ns,
            set: vec![],
            late_starts: false,
        };
        Ok(ReplayPage {
            report: Report::new(workload, runs),
            names,
            histories,
            rules,
            what: format!("a recorded trace replayed: {}", recorded.what()),
            sections: sections(report, &table),
        })
    }

    /// Runs `column` with the observers of a page.
    fn observed(&self, column: &Runner, most: usize) -> Result<(RunReport, History), Error> {
        let programs: HashMap<String, (String, String)> = (column.workload.tasks.iter())
            .map(|program| {
                let task = &self.trace.tasks[program.task as usize];
                let name = format!("{}-{}", program.name, task.pid);
                (program.key.clone(), (name, program.name.clone()))
            })
            .collect();
        let lead = Lead::new(self, column, 0)?;
        let experiment = column.led(&self.trace, lead.ns, &lead.early, false, |ns| ns)?;
        let mut recorder = Recorder::new(experiment.config.cpus, most, None);
        let name_of = move |key: &str| match programs.get(key) {
            Some(names) => names.clone(),
            None => (key.to_string(), key.to_string()),
        };
        let mut session = experiment.renamed_session(&column.choice, lead.ns, Box::new(name_of))?;
        session.observe(&mut recorder);
        let endless = Endless::of(column);
        session.stop_at(&stops(self, column, lead.ns), |session| {
            if lead.ns > 0 && session.now_ns() == lead.ns {
                session.end_lead();
            } else {
                endless.end(session);
            }
            true
        })?;
        let run = match session.finish() {
            Ok(run) => run,
            // A run that is stuck is also shown.
            Err(Error::Stuck { run, .. }) => *run,
            Err(error) => return Err(error),
        };
        Ok((run.report, recorder.into_history()))
    }
}

impl ReplayPage {
    /// Returns the page as HTML.
    pub fn html(&self) -> String {
        let seen: Vec<Option<Recording<'_>>> = (self.histories.iter().zip(&self.rules))
            .map(|(history, rules)| {
                history.as_ref().map(|history| Recording { history, rules, explained: &[] })
            })
            .collect();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        html::page(&Page {
            what: Some(&self.what),
            before: &self.sections,
            note: Some(
                "One run of each column, with the recorded work unchanged (seed 0 of the \
                 ensemble), and the recording itself. All tasks are shown. The table above has the \
                 bands of all runs, for the reported tasks.",
            ),
            names: &names,
            ..Page::new(&self.report, &seen)
        })
    }

    /// Returns the runs as a report, for charts.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Sections above the runs.
fn sections(report: &ReplayReport, table: &Table) -> Vec<html::Section> {
    let mut trust = vec![
        format!("The trace: {}.", report.trace_sentence()),
        format!("Sleeps: {}.", report.sleeps_sentence()),
        format!("Trust: {} ({}).", report.grade, report.trust_sentence()),
        format!("{}.", capital(&report.expected_sentence())),
    ];
    if !report.changed.is_empty() {
        trust.push(format!("Changes from the third column on: {}.", report.changed.join("; ")));
    }
    let figure = |shown: &Shown| Figure {
        text: format!("{} {}", shown.middle, shown.unit).trim_end().into(),
        band: shown.band.as_ref().map(|(least, most)| format!("{least} – {most}")),
        difference: match &shown.change {
            Change::None => Difference::None,
            Change::Alike => Difference::Alike,
            Change::By(by) => Difference::By(by.clone()),
        },
    };
    let groups: Vec<Group> = (table.blocks.iter())
        .map(|block| Group {
            name: block.name.clone(),
            tasks: block.tasks,
            grade: block.grade,
            rows: (block.rows.iter())
                .map(|(title, about, cells)| Row {
                    title,
                    about,
                    figures: cells.iter().map(|cell| cell.as_ref().map(figure)).collect(),
                })
                .collect(),
        })
        .collect();
    let messages = report.messages.iter().map(|it| (it.code, it.text.clone())).collect();
    let left_out = table.left_out;
    let columns = table.columns.clone();
    sections::sections(&sections::ReplayResult { trust, columns, groups, left_out, messages })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
