//! Machines by name, with a check that only the laboratory can make: that the schedulers with
//! separate costs exist.

use schedlab_machine::costs::{CostModel, special_of};
use schedlab_machine::description::{self, Description, DescriptionError};
use schedlab_sched::registry;
use std::path::Path;

/// Finds the machine that a user names: a preset, `flat-8`, or a file.
///
/// # Errors
/// There is no such machine, the file cannot be read, it does not describe a machine, or it names a
/// scheduler that does not exist.
pub fn find(name: &str) -> Result<Description, DescriptionError> {
    let found = description::find(name).map_err(|mut error| {
        // Both kinds of files come from the same command.
        if Path::new(name).is_file()
            && std::fs::read_to_string(name).is_ok_and(|text| text.contains(MEASURED))
        {
            error.message =
                "this is a measurement of a workload by `schedlab host`, for `schedlab compare`; a \
                 machine's file is what `schedlab host --measure --out` writes"
                    .into();
        }
        error
    });
    check(name, found?)
}

/// Text that occurs in every measured workload, and in no description of a machine.
const MEASURED: &str = "\"live-schedule/1";

/// Parses a description. Errors refer to it as `file`.
///
/// # Errors
/// As for [`find`].
pub fn parse(file: &str, text: &str) -> Result<Description, DescriptionError> {
    check(file, Description::parse(file, text)?)
}

fn check(file: &str, machine: Description) -> Result<Description, DescriptionError> {
    let specials = machine.costs.iter().flat_map(|costs| &costs.by_scheduler);
    for special in specials {
        known_scheduler(&special.scheduler).map_err(|message| DescriptionError {
            file: file.into(),
            place: format!("costs.by_scheduler.{}", special.scheduler),
            message,
        })?;
    }
    Ok(machine)
}

/// Sets one cost by name, like [`CostModel::set`].
///
/// # Errors
/// Name or value is invalid, or a scheduler does not exist.
pub fn set_cost(model: &mut CostModel, name: &str, ns: f64) -> Result<(), String> {
    if let Some(scheduler) = special_of(name) {
        known_scheduler(scheduler)?;
    }
    model.set(name, ns)
}

/// Checks that `name` is a scheduler or a release: a cost for a misspelt name would have no effect.
fn known_scheduler(name: &str) -> Result<(), String> {
    match registry::find(name) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("there is no scheduler {name}; names are as in `schedlab list`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_workload_is_told_from_a_machine() {
        let path = std::env::temp_dir().join(format!("schedlab-machine-{}", std::process::id()));
        std::fs::write(&path, r#"{"format": "live-schedule/1", "name": "a"}"#)
            .expect("the file is written");
        let error = find(path.to_str().expect("UTF-8")).unwrap_err().to_string();
        std::fs::remove_file(&path).expect("the file exists");
        assert!(error.contains("`schedlab host --measure --out` writes"), "{error}");
    }

    #[test]
    fn a_cost_of_a_scheduler_that_does_not_exist_is_refused() {
        let mut model = CostModel::default();
        let error = set_cost(&mut model, "o_m.scan", 1.0).unwrap_err();
        assert!(error.starts_with("there is no scheduler o_m; "), "{error}");
        assert_eq!(set_cost(&mut model, "o_n@2.4.20.call.futex", 1.0), Ok(()));
        assert_eq!(set_cost(&mut model, "scan", 1.0), Ok(()));
        let text = description::preset_text("pentium3-700x8").expect("the preset exists");
        let text = text.replace("\"o_n\": {", "\"o_m\": {");
        let error = parse("m.json", &text).unwrap_err().to_string();
        let start = "m.json:costs.by_scheduler.o_m: there is no scheduler o_m";
        assert!(error.starts_with(start), "{error}");
    }
}
