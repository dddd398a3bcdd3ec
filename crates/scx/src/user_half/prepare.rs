//! Applies to an image what a script does before a policy is loaded, and resolves the rest.

use super::eval::{Constants, Place};
use super::plan::{Job, Operation, TimedAction, UserHalf};
use super::scope::{Resolved, Scope, find_map, find_variable};
use super::script::{Assignment, Located, Script, Statement, Value};
use crate::error::ObjectError;
use crate::image::Image;
use crate::map_def::{self, MapKind};
use crate::memory::{FIRST_FREE, place};
use crate::ops::OpsNumbers;
use crate::settings::SettingTarget;
use std::sync::Arc;

/// Maximum number of new maps for an array of maps.
const INNER_MAX: i128 = 4096;

/// Maximum size of an array variable, bytes.
const ARRAY_MAX: i128 = 64 << 20;

impl Script {
    /// Applies to an image what is done before loading, and stores the rest in it. Does not check
    /// the definitions of maps: [`Image::set`] does.
    ///
    /// # Errors
    /// The first item that cannot be carried out: its place in the script, what is wrong, and what
    /// would be right.
    pub fn prepare(&self, image: &mut Image) -> Result<(), ObjectError> {
        fn locate<T>(place: &str, resolved: Resolved<T>) -> Result<T, ObjectError> {
            resolved.map_err(|what| ObjectError::new(place, what))
        }
        if self.cpu >= image.cpus {
            let what = format!("there is no CPU {}; the machine has {}", self.cpu, image.cpus);
            return Err(ObjectError::new("cpu", what));
        }
        for Located { place, item } in &self.resize {
            locate(place, resize(image, item))?;
        }
        for Located { place, item } in &self.set {
            locate(place, set_before(image, item))?;
        }
        for Located { place, item } in &self.inner {
            locate(place, add_inner(image, item))?;
        }
        let scope = Scope { image, is_running: true };
        let job =
            |Located { place, item }: &Located<Statement>| locate(place, scope.job(place, item));
        let before = self.before.iter().map(job).collect::<Result<Vec<Job>, _>>()?;
        let mut timed = vec![];
        for action in &self.actions {
            let only_if = match &action.only_if {
                Some(Located { place, item }) => Some(locate(place, scope.expr(item))?),
                None => None,
            };
            let jobs = action.statements.iter().map(job).collect::<Result<Vec<Job>, _>>()?;
            timed.push(TimedAction { when: action.when, only_if, jobs });
        }
        image.user = Some(Arc::new(UserHalf { cpu: self.cpu, before, timed }));
        Ok(())
    }

    /// Whether the script sets this item before loading.
    pub fn sets(&self, target: &SettingTarget) -> bool {
        let name = match target {
            SettingTarget::Variable { name, .. } => name.clone(),
            SettingTarget::Ops(field) => format!("ops.{field}"),
            SettingTarget::MapEntries(map) => format!("map.{map}.max_entries"),
        };
        self.set.iter().any(|set| set.item.name == name)
    }
}

/// Evaluates a number that must be known before the policy is loaded.
fn known(image: &Image, what: &str, value: &Value) -> Resolved<i128> {
    let scope = Scope { image, is_running: false };
    let expr = scope.number(what, value)?;
    expr.known(image.cpus)
        .ok_or_else(|| format!("{what} must be known before the policy is loaded"))
}

/// Changes the number of elements of an array, as `bpf_map__set_value_size` permits for the last
/// array of a section.
fn resize(image: &mut Image, set: &Assignment) -> Resolved<()> {
    let count = known(image, &set.name, &set.value)?;
    let at = find_variable(image, &set.name)?;
    let variable = image.variables[at].clone();
    let name = &set.name;
    let Some(element) = variable.element.filter(|&element| element > 0) else {
        return Err(format!("{name} is not an array"));
    };
    let last = image.variables.iter().filter(|it| it.data == variable.data);
    if last.clone().any(|it| it.offset > variable.offset) {
        return Err(format!(
            "{name} is not the last variable of section {}; only the last one can be resized: \
             give it a section of its own, SEC(\".data.{name}\")",
            image.data[variable.data].name
        ));
    }
    let bytes = count.saturating_mul(element.into());
    if count < 1 || bytes > ARRAY_MAX {
        return Err(format!(
            "{count} elements of {element} bytes; the minimum is 1 element, the maximum \
             {ARRAY_MAX} bytes"
        ));
    }
    image.variables[at].size = bytes as u32;
    let end = variable.offset as usize + bytes as usize;
    image.data[variable.data].bytes.resize(end, 0);
    Ok(())
}

fn set_before(image: &mut Image, set: &Assignment) -> Resolved<()> {
    if let Some(field) = set.name.strip_prefix("ops.") {
        let value = known(image, &set.name, &set.value)?;
        let value = u64::try_from(value).map_err(|_| format!("{value} does not fit in 64 bits"))?;
        let number = image.ops.get_mut(field);
        *number
            .ok_or_else(|| format!("the fields of ops are {}", OpsNumbers::NAMES.join(", ")))? =
            value;
        return Ok(());
    }
    let map = set.name.strip_prefix("map.").and_then(|rest| rest.strip_suffix(".max_entries"));
    if let Some(map) = map {
        let value = known(image, &set.name, &set.value)?;
        let value = u32::try_from(value).ok().filter(|&value| value > 0);
        let value = value.ok_or("a map has at least 1 entry, and fewer than 2^32")?;
        let map = find_map(image, map)?;
        image.maps[map].max_entries = value;
        return Ok(());
    }
    let scope = Scope { image, is_running: false };
    let Operation::Set { place, puts, .. } = scope.set(set)? else { return Ok(()) };
    let (region, offset) = place_of(&place, image.cpus)?;
    let context = Constants { cpus: image.cpus };
    if let Some(bytes) = image.data[region].bytes.get_mut(offset..) {
        puts.write(bytes, &context);
    }
    Ok(())
}

/// Returns the data section, and the offset in it, of an item that is set before loading.
fn place_of(place_: &Place, cpus: u32) -> Resolved<(usize, usize)> {
    let at = place_.address(&Constants { cpus }).ok_or("it lies beyond the end of the array")?;
    let (region, offset) = place(at);
    Ok(((region - FIRST_FREE) as usize, offset as usize))
}

/// Adds new maps, of the kind in its definition, to an array of maps.
fn add_inner(image: &mut Image, set: &Assignment) -> Resolved<()> {
    let count = known(image, &set.name, &set.value)?;
    let outer = find_map(image, &set.name)?;
    let name = &set.name;
    if image.maps[outer].kind != MapKind::ArrayOfMaps {
        return Err(format!("{name} is not an ARRAY_OF_MAPS"));
    }
    let most = i128::from(image.maps[outer].max_entries).min(INNER_MAX);
    if count < 1 || count > most {
        return Err(format!("{count} maps for {name}; it can have 1 to {most}"));
    }
    let Some(ty) = image.maps[outer].inner_type else {
        return Err(format!("the definition of {name} does not state which maps it holds"));
    };
    for number in 0..count as u32 {
        let inner = map_def::definition(&image.btf, &format!("{name}[{number}]"), ty, u64::MAX);
        let inner = inner.map_err(|error| error.what)?;
        image.maps.push(inner);
        let at = image.maps.len() - 1;
        image.maps[outer].values.retain(|&(place, _)| place != number);
        image.maps[outer].values.push((number, at));
    }
    Ok(())
}
