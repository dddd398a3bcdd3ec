//! Replays of small traces.
