//! Makes workloads.
