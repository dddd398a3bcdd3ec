//! Parts shared by the schedulers with virtual deadlines of Con Kolivas's patches (-ck): BFS and
//! MuQSS.
//!
//! | file | contents |
//! |---|---|
//! | [`idle_map`] | the set of idle CPUs |
//! | [`ratios`] | the effect of nice on deadlines |

pub mod idle_map;
pub mod ratios;
