//! Syntax of schedulers' names: a name, followed by settings of that scheduler alone.

use crate::error::UnknownScheduler;
use crate::scx::spec;
use crate::settings::{KINDS, Setting};

/// Returns the place in `text` at which a scheduler's name ends and its settings begin, if it has
/// any.
fn settings_at(text: &str) -> Option<usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-');
    let at = text.find(['[', ':'])?;
    (at > 0 && text[..at].chars().all(is_name)).then_some(at)
}

/// Splits `eevdf[DELAY_DEQUEUE=0,base_slice_ns=3000000]` or
/// `eevdf:DELAY_DEQUEUE=0,base_slice_ns=3ms` into the name and the settings. A bare name has no
/// settings.
pub(crate) fn with_settings(name: &str) -> Result<(&str, Vec<Setting>), UnknownScheduler> {
    let Some(at) = settings_at(name) else {
        if name.contains('=') {
            return Err(UnknownScheduler(format!(
                "{name}: this setting names no scheduler; put it after a name and a colon, as in \
                 cfs:{name}, or set it for all schedulers with --set {name}"
            )));
        }
        return Ok((name, vec![]));
    };
    let (bare, rest) = (&name[..at], &name[at + 1..]);
    let wrong = |what: &str| {
        UnknownScheduler(format!(
            "{name}: {what}; write it as {bare}:NAME=VALUE,... or {bare}[NAME=VALUE,...]"
        ))
    };
    let inner = if name[at..].starts_with('[') {
        rest.strip_suffix(']').ok_or_else(|| wrong("there is no ] at the end"))?
    } else {
        rest
    };
    let mut set: Vec<Setting> = vec![];
    for setting in inner.split(',').map(str::trim) {
        if !setting.contains('=') {
            let list = match set.last() {
                Some(last) if !setting.is_empty() => format!(
                    " (several values make columns with --set {}={},{setting})",
                    last.name(),
                    last.value()
                ),
                _ => String::new(),
            };
            return Err(wrong(&format!("a setting has no =: \"{setting}\"{list}")));
        }
        let setting = Setting::parse(setting).map_err(|what| wrong(&what))?;
        if set.iter().any(|other| other.name() == setting.name()) {
            return Err(wrong(&format!("{} is set twice", setting.name())));
        }
        set.push(setting);
    }
    Ok((bare, set))
}

/// Whether `part`, behind a comma, continues the settings of the scheduler before it: `b=2` of
/// `cfs:a=1,b=2` does, `o_1:a=1` does not.
fn continues_settings(part: &str) -> bool {
    let part = part.trim();
    let Some(equals) = part.find('=') else {
        // A value of a list, which is not allowed there. The reader of settings reports it.
        return part.starts_with(|c: char| c.is_ascii_digit());
    };
    match settings_at(part).filter(|at| *at < equals) {
        None => true,
        Some(at) => KINDS.contains(&&part[..at]) && part[at..].starts_with(':'),
    }
}

/// Joins the names in `names` that were cut at the commas between their settings.
pub(crate) fn whole_names(names: &[impl AsRef<str>]) -> Vec<String> {
    let mut whole: Vec<String> = vec![];
    for name in names {
        let name = name.as_ref();
        match whole.last_mut() {
            Some(last) if is_open(last, name) => {
                last.push(',');
                last.push_str(name);
            }
            _ => whole.push(name.into()),
        }
    }
    whole
}

/// Whether `part` belongs to the settings of `name`, before it.
fn is_open(name: &str, part: &str) -> bool {
    if spec::is_spec(name) {
        return spec::is_open(name);
    }
    match settings_at(name).map(|at| &name[at..]) {
        Some(settings) if settings.starts_with('[') => !settings.contains(']'),
        Some(_) => continues_settings(part),
        None => false,
    }
}
