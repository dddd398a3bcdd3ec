//! What the program can do, a module each.

pub mod list;
pub mod verify;
