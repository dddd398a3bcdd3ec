//! Errors of description files, before they are reported: [`Mistake`].

/// A position in the file, and a description of the error there.
pub(super) type Mistake = (String, String);
