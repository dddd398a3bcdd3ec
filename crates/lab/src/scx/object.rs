//! Objects of policies: read from files, and linked for a machine.

use crate::compressed;
use crate::scx_presets::Preset;
use crate::scx_user;
use schedlab_scx::user_half::script::Script;
use schedlab_scx::{Image, Object, Target};
use std::path::Path;
use std::sync::Arc;

/// Ticks a second, unless the user specifies otherwise.
pub(super) const HZ: u32 = 250;

/// Maximum size of an object, bytes.
const SIZE_MAX: u64 = 256 << 20;

/// Reads an object.
///
/// # Errors
/// It cannot be read, or is not a policy.
pub fn read(path: &Path) -> Result<Object, String> {
    let file = path.display().to_string();
    Object::read(&file, &bytes_of(path)?).map_err(|error| error.to_string())
}

/// Policies, by `ops.name`, whose tasks wait for a process that selects the next task.
const IN_USER_SPACE: [&str; 2] = ["userland", "rustland"];

/// Whether a policy of this name decides in user space.
pub(super) fn decides_in_user_space(name: &str) -> bool {
    IN_USER_SPACE.iter().any(|known| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    })
}

pub(super) fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    compressed::read(path, SIZE_MAX).map_err(|error| format!("{}: {error}", path.display()))
}

/// Links an object for a machine with `cpus` CPUs.
///
/// # Errors
/// It cannot run there, or a setting cannot be made.
pub fn link(
    object: &Object,
    cpus: u32,
    settings: &[schedlab_scx::Setting],
) -> Result<Image, String> {
    linked(object, Target { cpus, hz: HZ }, settings, None)
}

/// Like [`link`], with the script of a user half.
///
/// # Errors
/// As for [`link`], and the script refers to something that the object lacks.
pub fn link_with(
    object: &Object,
    cpus: u32,
    settings: &[schedlab_scx::Setting],
    user: &Path,
) -> Result<Image, String> {
    let script = (user.display().to_string(), Arc::new(scx_user::read(user)?));
    linked(object, Target { cpus, hz: HZ }, settings, Some(&script))
}

/// Links an object. Settings that are known for the policy come first.
pub(super) fn linked(
    object: &Object,
    target: Target,
    settings: &[schedlab_scx::Setting],
    user: Option<&(String, Arc<Script>)>,
) -> Result<Image, String> {
    let described = |error: schedlab_scx::ObjectError| error.in_file(&object.file).to_string();
    let mut image = object.link_as_it_is(target).map_err(described)?;
    if let Some((file, script)) = user {
        script.prepare(&mut image).map_err(|error| error.in_file(file).to_string())?;
    }
    let mut all = Preset::of(&image.name).map_or(vec![], |it| it.settings(&image, target.cpus));
    if let Some((_, script)) = user {
        // Settings of the script take precedence over the preset.
        all.retain(|setting| !script.sets(&setting.target));
    }
    all.extend(settings.iter().cloned());
    image.set(&all).map_err(described)?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_decide_in_user_space_are_known() {
        for name in ["userland", "rustland_1.0.2", "rustland.x"] {
            assert!(decides_in_user_space(name), "{name}");
        }
        assert!(!decides_in_user_space("userlands") && !decides_in_user_space("vtime"));
    }
}
