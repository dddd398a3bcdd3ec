//! Syntax of a policy's name: `scx:FILE@RELEASE[NAME=VALUE,...]`.

use crate::scx_expects::{self, Expects};
use crate::settings::Setting;
use schedlab_core::Promises;
use schedlab_scx::OnEnd;

/// Prefix of the file in a scheduler's name.
pub const PREFIX: &str = "scx:";

/// A program of the object that runs before the policy begins, with its arguments.
pub(super) type Call = (String, Vec<i32>);

/// Releases of the class, the default one first.
pub(super) const RELEASES: [&str; 2] = ["6.18", "7.3"];

/// Splits `FILE@7.3` into the file and the release.
pub(super) fn with_release(file: &str) -> (&str, &'static str) {
    let named = |release: &&&'static str| {
        file.strip_suffix(**release).is_some_and(|file| file.ends_with('@'))
    };
    match RELEASES.iter().find(named) {
        Some(release) => (&file[..file.len() - release.len() - 1], release),
        None => (file, RELEASES[0]),
    }
}

/// Reads settings as users write them.
///
/// # Errors
/// The first text that is not a setting.
pub fn settings<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<schedlab_scx::Setting>, String> {
    let all = texts.into_iter().filter(|text| !text.trim().is_empty());
    all.map(|text| schedlab_scx::Setting::read(text).map_err(|error| error.to_string())).collect()
}

/// Whether `name` is the name of a policy in a file.
pub fn is_spec(name: &str) -> bool {
    name.trim_start().starts_with(PREFIX)
}

/// Whether `name`, cut at a comma, continues behind it: its brackets are open.
pub(crate) fn is_open(name: &str) -> bool {
    name.matches('[').count() > name.matches(']').count()
}

/// Splits `scx:FILE[NAME=VALUE,...]` into the file and the text in brackets.
pub(super) fn parts(spec: &str) -> Option<(&str, &str)> {
    let rest = spec.trim().strip_prefix(PREFIX)?;
    Some(match rest.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((file, settings)) => (file, settings),
        None => (rest, ""),
    })
}

/// Items in the brackets behind a policy's file, by kind.
#[derive(Default)]
pub(super) struct Bracket {
    /// Tunables, nice values of tasks, weights of groups.
    pub own: Vec<Setting>,
    /// Elements of arrays, calls and the effect of an end, as written.
    pub fixed: Vec<String>,
    pub elements: Vec<schedlab_scx::Setting>,
    pub calls: Vec<Call>,
    pub on_end: Option<OnEnd>,
    pub put_back_ns: u64,
    pub user: Option<String>,
    pub expects: Expects,
    pub promises: Promises,
}

impl Bracket {
    pub fn read(text: &str) -> Result<Bracket, String> {
        let mut bracket = Bracket::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            if let Some(function) = name.strip_prefix("call.") {
                bracket.calls.push((function.into(), arguments(item, value)?));
            } else if name == "user" {
                if value.is_empty() {
                    return Err("user= needs the script of the user half: user=FILE.toml".into());
                }
                bracket.user = Some(value.into());
            } else if let Some(name) = name.strip_prefix("expects.") {
                bracket.expects.add(name, value)?;
            } else if let Some(name) = name.strip_prefix("promise.") {
                scx_expects::promise(&mut bracket.promises, name, value)?;
            } else if name == "put_back_ns" {
                let ns = value.parse().ok().filter(|ns| *ns < 1_000_000_000_u64);
                bracket.put_back_ns = ns.ok_or_else(|| {
                    format!(
                        "{item}: it must be a time in ns below one second, such as \
                         put_back_ns=30000"
                    )
                })?;
            } else if name == "on_error" {
                bracket.on_end = Some(match value {
                    "stop" => OnEnd::Stop,
                    "fallback" => OnEnd::GoOn,
                    _ => return Err(format!("{item}: write on_error=stop or on_error=fallback")),
                });
            } else if name.contains('[') || !item.contains('=') {
                let element = schedlab_scx::Setting::read(item);
                bracket.elements.push(element.map_err(|error| error.to_string())?);
            } else {
                let setting = Setting::parse(&decimal(item, name, value))?;
                if bracket.own.iter().any(|other| other.name() == setting.name()) {
                    bracket.own.retain(|other| other.name() != setting.name());
                }
                bracket.own.push(setting);
                continue;
            }
            bracket.fixed.push(item.into());
        }
        Ok(bracket)
    }
}

/// Turns `true`, `false` and `0xff` into decimal numbers. Other values stay as they are. Unsigned
/// 64-bit numbers that are too large become the signed numbers with the same bits.
fn decimal(item: &str, name: &str, value: &str) -> String {
    let value = value.trim();
    let number = match value {
        "true" => Some(1),
        "false" => Some(0),
        _ => match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse::<u64>().ok(),
        },
    };
    number.map_or_else(|| item.into(), |number| format!("{name}={}", number as i64))
}

/// Reads `1/2/-3`: the arguments of a program to call, 32 bits each.
fn arguments(item: &str, text: &str) -> Result<Vec<i32>, String> {
    let words = text.split('/').map(str::trim).filter(|word| !word.is_empty());
    let number = |word: &str| {
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok().map(|value| value as i32),
            None => word.parse::<i32>().ok().or_else(|| word.parse::<u32>().ok().map(|n| n as i32)),
        };
        parsed.ok_or_else(|| {
            format!("{item}: \"{word}\" is not a 32-bit number; write call.FUNCTION=1/2/3")
        })
    };
    words.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("cfs"), None);
        assert_eq!(parts("scx:a/b.bpf.o"), Some(("a/b.bpf.o", "")));
        assert_eq!(parts("scx:b.o[x=1,y[2]=3]"), Some(("b.o", "x=1,y[2]=3")));
        assert!(is_open("scx:b.o[x=1") && !is_open("scx:b.o[x=1,y[2]=3]"));
    }

    #[test]
    fn what_stands_in_brackets_is_sorted() {
        let bracket = Bracket::read("x=5ms,t[3]=-1,call.init=1/-2,on_error=fallback").err();
        assert!(bracket.is_some_and(|error| error.contains("unit of time")));
        let read = Bracket::read("x_ns=5ms,t[3]=-1,call.init=1/-2,on_error=fallback");
        let Ok(bracket) = read else { panic!("the items are valid") };
        assert_eq!(bracket.own.len(), 1);
        let numbers = Bracket::read("a=true,b=0xff,c=18446744073709551615");
        let numbers = numbers.map(|it| it.own.iter().map(Setting::to_string).collect::<Vec<_>>());
        assert_eq!(numbers, Ok(["a=1", "b=255", "c=-1"].map(String::from).to_vec()));
        assert_eq!(bracket.calls, [("init".to_string(), vec![1, -2])]);
        assert_eq!(bracket.on_end, Some(OnEnd::GoOn));
        assert_eq!(bracket.fixed, ["t[3]=-1", "call.init=1/-2", "on_error=fallback"]);
        assert!(Bracket::read("on_error=perhaps").is_err());
        assert!(Bracket::read("call.a=x").is_err_and(|error| error.contains("call.FUNCTION")));
        assert!(Bracket::read("slice").is_err_and(|error| error.contains("NAME=VALUE")));
    }
}
