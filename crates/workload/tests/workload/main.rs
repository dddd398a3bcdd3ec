//! The language, rule by rule: a file goes in, a machine runs it, times come out.

mod errors;
mod events;
mod files;
mod generated;
mod golden;
mod hostile;
mod log;
mod properties;
mod stuck;
mod support;
mod synchronisation;
mod timetable;
