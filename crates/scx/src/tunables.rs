//! Settings of a policy as tunables of the laboratory.
//!
//! Items that user space writes before it loads a policy (`const volatile` variables, numbers of
//! the table of callbacks, sizes of maps) can be set until the policy begins. Variables that are
//! not constant can be written at any time, as by a user half that has mapped them.

use crate::image::Variable;
use crate::map_def::MapKind;
use crate::ops::OpsNumbers;
use crate::scheduler::ScxScheduler;
use crate::settings::{Setting, SettingTarget};
use schedlab_core::control::{ControlError, Reply};
use schedlab_core::{Tunable, TunableError};
use std::sync::Arc;

/// Whether the variable is a single number that can be set.
fn is_number(variable: &Variable) -> bool {
    variable.element.is_none()
        && matches!(variable.size, 1 | 2 | 4 | 8)
        && !variable.type_name.ends_with('*')
        && !variable.type_name.starts_with("struct")
}

fn range_of(variable: &Variable) -> (i64, i64) {
    match variable.size {
        8 => (i64::MIN, i64::MAX),
        size => (-(1 << (8 * size - 1)), (1 << (8 * size)) - 1),
    }
}

/// Whether the map's size depends on its number of entries.
fn has_entries(kind: MapKind) -> bool {
    !matches!(kind, MapKind::TaskStorage | MapKind::CgrpStorage)
}

impl ScxScheduler {
    /// Returns all tunables with their current values. Unsigned 64-bit numbers that are too large
    /// appear as signed numbers with the same bits.
    pub(crate) fn settings_now(&self) -> Vec<Tunable> {
        let image = &self.world.image;
        let mut all = vec![];
        for variable in image.variables.iter().filter(|it| is_number(it) && !image.is_internal(it))
        {
            let bits = self.world.vm.memory.load(variable.address(), variable.size as usize);
            all.push(Tunable {
                name: variable.name.clone().into(),
                value: variable.number(bits.unwrap_or(0), variable.size),
                range: range_of(variable),
                help: if image.data[variable.data].is_writable {
                    "a variable of the policy"
                } else {
                    "a variable of the policy, constant while it runs"
                },
            });
        }
        let mut ops = image.ops;
        for name in OpsNumbers::NAMES {
            let value = ops.get_mut(name).map_or(0, |value| *value as i64);
            let name = format!("ops.{name}").into();
            let help = "a number of the policy's table of callbacks";
            all.push(Tunable { name, value, range: (i64::MIN, i64::MAX), help });
        }
        for map in image.maps.iter().filter(|map| has_entries(map.kind)) {
            all.push(Tunable {
                name: format!("map.{}.max_entries", map.name).into(),
                value: i64::from(map.max_entries),
                range: (1, i64::from(u32::MAX)),
                help: "maximum number of entries of a map of the policy",
            });
        }
        all
    }

    /// Sets one of [`settings_now`](ScxScheduler::settings_now).
    pub(crate) fn set_now(&mut self, name: &str, value: i64) -> Result<Reply, ControlError> {
        schedlab_core::tunables::check(&self.settings_now(), name, value)?;
        let refused = |why: String| TunableError::Refused(why).into();
        let text = format!("{name}={value}");
        let mut setting = Setting::read(&text).map_err(|error| refused(error.to_string()))?;
        if matches!(setting.target, SettingTarget::Ops(_)) {
            // These numbers are unsigned, 64 bits.
            setting.value = i128::from(value as u64);
        }
        let image = &self.world.image;
        let variable = match &setting.target {
            SettingTarget::Variable { name, .. } => {
                image.variables.iter().find(|variable| variable.name == *name).cloned()
            }
            _ => None,
        };
        if self.has_started {
            let Some(variable) = variable.filter(|it| image.data[it.data].is_writable) else {
                return Err(refused(
                    "it is constant once the policy is loaded; set it before with --scx-set".into(),
                ));
            };
            self.world.vm.memory.write(variable.address(), variable.size as usize, value as u64);
            return Ok(Reply::Done);
        }
        let image = Arc::make_mut(&mut self.world.image);
        image.set(&[setting]).map_err(|error| refused(error.to_string()))?;
        match variable {
            Some(variable) => {
                let width = variable.size as usize;
                self.world.vm.memory.write(variable.address(), width, value as u64);
            }
            None => self.begin_anew(),
        }
        Ok(Reply::Done)
    }

    /// Makes the world again, with the maps' new sizes.
    fn begin_anew(&mut self) {
        let (image, topology) = (Arc::clone(&self.world.image), self.world.topology.clone());
        let mut world = ScxScheduler::world(image, &topology, self.options);
        world.log = self.world.log.take();
        world.first_calls = std::mem::take(&mut self.world.first_calls);
        self.world = world;
    }
}
