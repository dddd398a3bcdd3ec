//! The language, rule by rule: a machine runs a file, and the times are checked.

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
