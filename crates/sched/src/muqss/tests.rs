//! The worked examples of the description.
