//! The engine as an extension module of Python, `schedlab._native`.
//!
//! This half knows the engine and exchanges plain data: plans as JSON, tables as Arrow, errors as
//! exceptions. Users see the pure half in `src/schedlab`; the types of this half are declared in
//! `_native.pyi`.

mod errors;
mod facts;
mod failure;
mod interrupt;
mod live;
mod plans;
mod policies;
mod policy;
mod rows;
mod sweep;
mod tables;
mod threads;
mod wakeups;
mod work;

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program `schedlab`: parses `args`, the first of which is its name, and returns its
/// status.
#[pyfunction]
fn cli_main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| schedlab_cli::run(args))
}

/// The module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("program", schedlab_cli::PROGRAM)?;
    module.add_function(wrap_pyfunction!(cli_main, module)?)?;
    module.add_function(wrap_pyfunction!(facts::read_text, module)?)?;
    module.add_function(wrap_pyfunction!(facts::machine_source, module)?)?;
    module.add_function(wrap_pyfunction!(facts::schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(facts::benchmarks, module)?)?;
    module.add_function(wrap_pyfunction!(facts::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(facts::is_plan, module)?)?;
    module.add_function(wrap_pyfunction!(facts::is_trace, module)?)?;
    module.add_class::<plans::Prepared>()?;
    module.add_class::<plans::Outcome>()?;
    module.add_class::<policy::Machine>()?;
    module.add_function(wrap_pyfunction!(tables::stack, module)?)?;
    module.add_function(wrap_pyfunction!(work::stress, module)?)?;
    module.add_function(wrap_pyfunction!(work::verify, module)?)?;
    module.add_function(wrap_pyfunction!(work::papers, module)?)?;
    module.add_function(wrap_pyfunction!(work::paper_ids, module)?)?;
    module.add_function(wrap_pyfunction!(work::replay, module)?)?;
    module.add_function(wrap_pyfunction!(work::beside_trace, module)?)?;
    module.add_function(wrap_pyfunction!(work::trace_workload, module)?)?;
    module.add_class::<live::Witness>()?;
    module.add_function(wrap_pyfunction!(live::host, module)?)?;
    module.add_function(wrap_pyfunction!(live::host_probe, module)?)?;
    module.add_class::<work::Bench>()?;
    module.add_class::<work::BrokenRule>()?;
    module.add_class::<plans::Wait>()?;
    module.add_class::<tables::Table>()?;
    module.add_class::<sweep::Space>()?;
    module.add_class::<sweep::Store>()?;
    module.add_function(wrap_pyfunction!(sweep::part_form, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::toml_json, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::t_95, module)?)?;
    Ok(())
}
