//! Scripts of user halves, in TOML: `--scx-user FILE.toml`. `docs/scx.md` describes their contents.

use crate::compressed;
use schedlab_scx::user_half::script::{
    Action, Assignment, Call, Entry, Located, Record, Script, Statement, Timing, Value,
};
use std::path::Path;
use toml::Table;

/// Maximum size of a script, bytes.
const SIZE_MAX: u64 = 16 << 20;

/// Minimum period, ns.
const PERIOD_MIN: u64 = 1_000;

/// Reads a script.
///
/// # Errors
/// The file cannot be read, or is not a script. The message names the file, the place in it, and
/// what would be right.
pub fn read(path: &Path) -> Result<Script, String> {
    let file = path.display().to_string();
    let bytes = compressed::read(path, SIZE_MAX).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{file}: it is not UTF-8 text"))?;
    parse(&file, &text)
}

/// Parses the script in `text`. Messages refer to it as `file`.
///
/// # Errors
/// As for [`read`].
pub fn parse(file: &str, text: &str) -> Result<Script, String> {
    let table: Table = toml::from_str(text).map_err(|error| format!("{file}: {error}"))?;
    script(&table).map_err(|what| format!("{file}: {what}"))
}

const TOP: [&str; 8] = ["about", "cpu", "resize", "set", "inner", "entry", "call", "action"];

fn script(table: &Table) -> Result<Script, String> {
    known("", table, &TOP)?;
    if let Some(about) = table.get("about")
        && !about.is_str()
    {
        return Err(format!("about: it must be a text, not {}", kind(about)));
    }
    let mut script = Script { cpu: number("", table, "cpu")?.unwrap_or(0), ..Script::default() };
    let lists =
        [("resize", &mut script.resize), ("set", &mut script.set), ("inner", &mut script.inner)];
    for (name, list) in lists {
        *list = sets(name, table.get(name))?;
    }
    for (place, table) in tables("", table, "entry", true)? {
        let item = Statement::Write(entry(&place, table, true)?);
        script.before.push(Located { place, item });
    }
    for (place, table) in tables("", table, "call", true)? {
        let item = Statement::Call(call(&place, table)?);
        script.before.push(Located { place, item });
    }
    for (place, table) in tables("", table, "action", true)? {
        script.actions.push(action(&place, table)?);
    }
    Ok(script)
}

/// Returns the type of a value, for messages.
fn kind(value: &toml::Value) -> String {
    match value.type_str() {
        word @ ("integer" | "array") => format!("an {word}"),
        word => format!("a {word}"),
    }
}

fn within(place: &str, name: &str) -> String {
    if place.is_empty() { name.into() } else { format!("{place}: {name}") }
}

/// Checks that a table has only these keys.
fn known(place: &str, table: &Table, names: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !names.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let near = schedlab_scx::error::nearest(key, names.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" did you mean {near}?"));
            let names = names.join(", ");
            Err(format!("{}: there is no such key;{near} the keys are {names}", within(place, key)))
        }
    }
}

fn text<'a>(place: &str, table: &'a Table, name: &str) -> Result<Option<&'a str>, String> {
    match table.get(name) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!(
            "{}: it must be a text in quotes, not {}",
            within(place, name),
            kind(other)
        )),
    }
}

fn needed<'a>(place: &str, table: &'a Table, name: &str) -> Result<&'a str, String> {
    text(place, table, name)?.ok_or_else(|| format!("{place}: {name} is missing"))
}

fn number(place: &str, table: &Table, name: &str) -> Result<Option<u32>, String> {
    match table.get(name) {
        None => Ok(None),
        Some(toml::Value::Integer(number)) => match u32::try_from(*number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{}: {number} is not the number of a CPU", within(place, name))),
        },
        Some(other) => {
            Err(format!("{}: it must be a number, not {}", within(place, name), kind(other)))
        }
    }
}

fn time(place: &str, table: &Table, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = table.get(name) else { return Ok(None) };
    let wrong = || {
        let place = within(place, name);
        format!("{place}: write a time in quotes, \"100ms\"; units are ns, us, ms, s")
    };
    let text = value.as_str().ok_or_else(wrong)?.trim();
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    let ns = number.checked_mul(unit).filter(|&ns| ns <= i64::MAX as u64);
    Ok(Some(ns.ok_or_else(|| format!("{}: {text} is too long", within(place, name)))?))
}

fn value(place: &str, given: &toml::Value) -> Result<Value, String> {
    Ok(match given {
        toml::Value::Integer(number) => Value::Number((*number).into()),
        toml::Value::Boolean(truth) => Value::Number((*truth).into()),
        toml::Value::String(text) => Value::Text(text.clone()),
        toml::Value::Array(values) => {
            Value::List(values.iter().map(|one| value(place, one)).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let member = |(name, one): (&String, &toml::Value)| {
                value(&within(place, name), one).map(|value| (name.clone(), value))
            };
            Value::Table(table.iter().map(member).collect::<Result<_, _>>()?)
        }
        other => {
            let kind = kind(other);
            return Err(format!(
                "{place}: {kind}; a value is a whole number, true, false, an expression in quotes, \
                 a list or a table of members"
            ));
        }
    })
}

/// Reads each `NAME = VALUE` of a table, in the order of the names.
fn sets(place: &str, given: Option<&toml::Value>) -> Result<Vec<Located<Assignment>>, String> {
    let Some(given) = given else { return Ok(vec![]) };
    let toml::Value::Table(table) = given else {
        return Err(format!("{place}: it must be a table, NAME = VALUE, not {}", kind(given)));
    };
    let mut sets = vec![];
    for (name, given) in table {
        let at = within(place, name);
        // [set.ops] and [set.map.NAME] as well as "ops.flags".
        if let ("ops" | "map", toml::Value::Table(inner)) = (name.as_str(), given) {
            for (field, given) in inner {
                match given {
                    toml::Value::Table(innermost) => {
                        for (last, given) in innermost {
                            let name = format!("{name}.{field}.{last}");
                            let value = value(&within(place, &name), given)?;
                            let at = within(place, &name);
                            sets.push(Located { place: at, item: Assignment { name, value } });
                        }
                    }
                    given => {
                        let name = format!("{name}.{field}");
                        let value = value(&within(place, &name), given)?;
                        sets.push(Located {
                            place: within(place, &name),
                            item: Assignment { name, value },
                        });
                    }
                }
            }
            continue;
        }
        let value = value(&at, given)?;
        sets.push(Located { place: at, item: Assignment { name: name.clone(), value } });
    }
    Ok(sets)
}

/// Tables of a list with their places: `[[entry]]` 2.
fn tables<'a>(
    place: &str,
    table: &'a Table,
    name: &str,
    is_top: bool,
) -> Result<Vec<(String, &'a Table)>, String> {
    let Some(given) = table.get(name) else { return Ok(vec![]) };
    let wrong = || {
        let (at, kind) = (within(place, name), kind(given));
        match is_top {
            true => format!("{at}: write [[{name}]], a table for each, not {kind}"),
            false => format!("{at}: write a list of tables, [{{ ... }}], not {kind}"),
        }
    };
    let toml::Value::Array(list) = given else { return Err(wrong()) };
    let mut tables = vec![];
    for (number, one) in list.iter().enumerate() {
        let toml::Value::Table(one) = one else { return Err(wrong()) };
        let at = match is_top {
            true => format!("[[{name}]] {}", number + 1),
            false => format!("{} {}", within(place, name), number + 1),
        };
        tables.push((at, one));
    }
    Ok(tables)
}

fn optional(place: &str, table: &Table, name: &str) -> Result<Option<Value>, String> {
    table.get(name).map(|given| value(&within(place, name), given)).transpose()
}

fn entry(place: &str, table: &Table, is_written: bool) -> Result<Entry, String> {
    let all = ["map", "key", "each", "value", "cpu"];
    known(place, table, if is_written { &all } else { &all[..3] })?;
    Ok(Entry {
        map: needed(place, table, "map")?.into(),
        key: optional(place, table, "key")?,
        value: optional(place, table, "value")?,
        cpu: number(place, table, "cpu")?,
        each: optional(place, table, "each")?,
    })
}

fn call(place: &str, table: &Table) -> Result<Call, String> {
    known(place, table, &["program", "args", "type", "each"])?;
    Ok(Call {
        program: needed(place, table, "program")?.into(),
        args: optional(place, table, "args")?.unwrap_or(Value::List(vec![])),
        ty: text(place, table, "type")?.map(str::to_string),
        each: optional(place, table, "each")?,
    })
}

fn record(place: &str, table: &Table) -> Result<Record, String> {
    known(place, table, &["map", "value", "type", "each"])?;
    let value = optional(place, table, "value")?;
    Ok(Record {
        map: needed(place, table, "map")?.into(),
        value: value.ok_or_else(|| format!("{place}: value is missing"))?,
        ty: text(place, table, "type")?.map(str::to_string),
        each: optional(place, table, "each")?,
    })
}

const ACTION: [&str; 11] =
    ["every", "at", "from", "until", "when", "set", "write", "delete", "call", "send", "read"];

fn action(place: &str, table: &Table) -> Result<Action, String> {
    known(place, table, &ACTION)?;
    let (every, at) = (time(place, table, "every")?, time(place, table, "at")?);
    let (from, until) = (time(place, table, "from")?, time(place, table, "until")?);
    let when = match (every, at) {
        (Some(_), Some(_)) => return Err(format!("{place}: give either every or at, not both")),
        (None, None) => {
            return Err(format!("{place}: it has neither every = \"100ms\" nor at = \"1s\""));
        }
        (Some(every), _) if every < PERIOD_MIN => {
            return Err(format!("{}: a period is 1us or longer", within(place, "every")));
        }
        (Some(every), _) => Timing {
            first_ns: from.unwrap_or(every),
            every_ns: Some(every),
            until_ns: until.unwrap_or(u64::MAX),
        },
        (None, Some(_)) if from.is_some() || until.is_some() => {
            return Err(format!("{place}: from and until go with every, not with at"));
        }
        (None, Some(at)) => Timing { first_ns: at, every_ns: None, until_ns: u64::MAX },
    };
    let only_if = text(place, table, "when")?
        .map(|text| Located { place: within(place, "when"), item: text.to_string() });
    let mut statements = vec![];
    for Located { place, item } in sets(&within(place, "set"), table.get("set"))? {
        statements.push(Located { place, item: Statement::Set(item) });
    }
    for (place, table) in tables(place, table, "write", false)? {
        let item = Statement::Write(entry(&place, table, true)?);
        statements.push(Located { place, item });
    }
    for (place, table) in tables(place, table, "delete", false)? {
        let item = Statement::Delete(entry(&place, table, false)?);
        statements.push(Located { place, item });
    }
    for (place, table) in tables(place, table, "call", false)? {
        let item = Statement::Call(call(&place, table)?);
        statements.push(Located { place, item });
    }
    for (place, table) in tables(place, table, "send", false)? {
        let item = Statement::Send(record(&place, table)?);
        statements.push(Located { place, item });
    }
    match table.get("read") {
        None => (),
        Some(toml::Value::Array(list)) if list.iter().all(toml::Value::is_str) => {
            for text in list.iter().filter_map(toml::Value::as_str) {
                let place = within(place, &format!("read {text:?}"));
                statements.push(Located { place, item: Statement::Read(text.into()) });
            }
        }
        Some(other) => {
            let place = within(place, "read");
            let right = "write a list of texts, [\"slice_ns\", \"map.stats\"]";
            return Err(format!("{place}: {right}, not {}", kind(other)));
        }
    }
    if statements.is_empty() {
        let all = ACTION[5..].join(", ");
        return Err(format!("{place}: there is no action; give one of {all}"));
    }
    Ok(Action { when, only_if, statements })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read() {
        let script = parse(
            "u.toml",
            "about = \"x\"\n[resize]\ntable = \"cpus\"\n[set]\nslice_ns = \"5ms\"\n\
             \"ops.flags\" = 2\n\
             [set.map.queue]\nmax_entries = 7\n[[entry]]\nmap = \"domains\"\nkey = 3\n\
             value = { mask = 255, weights = [1, 2] }\n[[call]]\nprogram = \"init\"\n\
             args = [1, -1]\n\
             each = \"cpus\"\n[[action]]\nevery = \"100ms\"\nfrom = \"0s\"\nuntil = \"1s\"\n\
             when = \"queued > 3\"\nset = { slice_ns = \"slice_ns / 2\" }\n\
             read = [\"slice_ns\", \"map.domains\"]\n[[action]]\nat = \"1500us\"\n\
             delete = [{ map = \"domains\", key = 3 }]\n",
        )
        .expect("a script");
        assert_eq!(script.resize[0].place, "resize: table");
        let names: Vec<&str> = script.set.iter().map(|set| set.item.name.as_str()).collect();
        assert_eq!(names, ["map.queue.max_entries", "ops.flags", "slice_ns"]);
        assert_eq!(script.before[0].place, "[[entry]] 1");
        let Statement::Call(call) = &script.before[1].item else {
            panic!("the statement is a call")
        };
        assert_eq!(call.args, Value::List(vec![Value::Number(1), Value::Number(-1)]));
        let [first, second] = script.actions.as_slice() else { panic!("two actions") };
        let when = Timing { first_ns: 0, every_ns: Some(100_000_000), until_ns: 1_000_000_000 };
        assert_eq!((first.when, first.statements.len()), (when, 3));
        assert_eq!(first.statements[0].place, "[[action]] 1: set: slice_ns");
        assert_eq!(second.when.first_ns, 1_500_000);
    }

    #[test]
    fn what_is_no_script_is_refused_with_its_place() {
        let wrong = |text: &str| parse("u.toml", text).expect_err("the script is invalid");
        assert!(wrong("x =").contains("u.toml: TOML parse error at line 1"));
        let far = wrong("st = 1");
        assert!(far.starts_with("u.toml: st: there is no such key; did you mean set?"), "{far}");
        assert!(wrong("set = 1").contains("set: it must be a table, NAME = VALUE, not an integer"));
        assert!(wrong("[set]\nx = 1.5").contains("set: x: a float; a value is a whole number"));
        assert!(wrong("cpu = -1").contains("cpu: -1 is not the number of a CPU"));
        assert!(wrong("cpu = \"a\"").contains("cpu: it must be a number, not a string"));
        assert!(wrong("about = 1").contains("about: it must be a text"));
        assert!(wrong("[entry]\nmap = \"a\"").contains("entry: write [[entry]], a table for each"));
        assert!(wrong("[[entry]]\nkey = 1").contains("[[entry]] 1: map is missing"));
        assert!(
            wrong("[[entry]]\nmap = 1")
                .contains("map: it must be a text in quotes, not an integer")
        );
        assert!(wrong("[[call]]\nprogam = \"a\"").contains("did you mean program?"));
        let action = |text: &str| wrong(&format!("[[action]]\n{text}"));
        assert!(action("").contains("[[action]] 1: it has neither every"));
        assert!(action("every = 5").contains("write a time in quotes"));
        assert!(action("every = \"5\"").contains("write a time in quotes"));
        assert!(action("every = \"-5ms\"").contains("write a time in quotes"));
        assert!(action("every = \"1ns\"").contains("1us or longer"));
        assert!(action("every = \"99999999999999s\"").contains("is too long"));
        assert!(action("every = \"1ms\"\nat = \"1ms\"").contains("either every or at"));
        assert!(action("at = \"1ms\"\nfrom = \"0s\"").contains("go with every"));
        assert!(action("at = \"1ms\"").contains("there is no action; give one of set, write"));
        assert!(action("at = \"1ms\"\nread = \"a\"").contains("write a list of texts"));
        assert!(action("at = \"1ms\"\nwrite = 5").contains("write a list of tables"));
        assert!(action("at = \"1ms\"\nset = [1]").contains("set: it must be a table"));
        let send = "at = \"1ms\"\nsend = [{ map = \"a\" }]";
        assert!(action(send).contains("[[action]] 1: send 1: value is missing"));
    }
}
