//! placeholder
pub mod entity;
pub mod tree;
