//! The page of a sweep.

use schedlab_lab::space::Space;
use schedlab_lab::space::summary::Cell;

/// The page.
pub fn page(_space: &Space, _cells: &[Cell]) -> String {
    String::new()
}
