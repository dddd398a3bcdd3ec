//! The command line of `schedlab bench mix`: members, each written as its command line after
//! `schedlab bench`.

use crate::bench_options::{Common, given, option, options_of};
use crate::files;
use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command};
use schedlab_bench::combined::{SETTINGS, setting_aside, setting_name};
use schedlab_bench::{ALL, Benchmark, Value};
use schedlab_lab::plan::{Member, Mix, Setting, setting};
use schedlab_workload::close_names;
use std::path::PathBuf;

/// Name of the subcommand.
pub const NAME: &str = "mix";

const MEMBERS: &str = "member";
const FILE: &str = "mix-file";

const HELP: &str = "\
A member is the command line of a benchmark after `schedlab bench`, in quotes:
\"hackbench 10 --pipe\". It may have a name: \"web=hackbench 10\". Each member has its own clock and
ends, with all its tasks, when it is finished; the mix ends when all are finished.

Other options of a member (where a benchmark has an option of the same name, the option here is
--mix-NAME):
  --start S           start time, s [default: 0]
  --nice N            nice value of its tasks, unless the tasks set their own [default: 0]
  --policy WORD       policy of its tasks: other, batch, idle, fifo, rr [default: other]
  --rt-priority N     priority of its tasks, with fifo and rr [default: 1]
  --affinity CPUS     CPUs of its tasks, unless the tasks set their own, such as 0-3 or 0+2
                      [default: all]
  --shares N          cpu.shares of a separate task group [default: 0, none]

Every parameter of every member accepts a list, such as 50,100 or 25..200:25; the first figure of
the first member is then shown over the list as a table and a curve.

Examples:
  schedlab bench mix \"game --time 20\" \"li --count 0,1,2,4 --time 20\" --scheduler o_1,cfs
  schedlab bench mix \"editor --time 10\" \"hackbench 4 --start 5 --nice 5\" --cpus 2";

/// Makes the subcommand `mix`.
pub fn subcommand() -> Command {
    let members = Arg::new(MEMBERS)
        .value_name("MEMBER")
        .num_args(1..)
        .required_unless_present(FILE)
        .help("Benchmarks to run at once, each with its options in quotes");
    let file = Arg::new(FILE)
        .long("file")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help(
            "File of members, one per line, placed before those on the command line; # begins a \
             comment",
        );
    let command = Command::new(NAME).next_help_heading("Members").arg(members).arg(file);
    Common::augment_args(command)
        .about("Several of these benchmarks at once on one machine")
        .long_about(None)
        .after_help(HELP)
}

/// Text of a member, and its origin.
struct MemberText {
    place: String,
    text: String,
}

/// Makes the mix that the command line requests.
pub fn mix(matches: &ArgMatches) -> Result<Mix, Error> {
    let written = written(matches)?;
    let members = written.iter().map(member).collect::<Result<Vec<Member>, Error>>()?;
    Ok(Mix { members })
}

/// Returns an error that includes the usage of this command.
fn failed(message: String) -> Error {
    subcommand().bin_name("schedlab bench mix").error(ErrorKind::ValueValidation, message)
}

/// Returns the members of the file, then the members of the command line.
fn written(matches: &ArgMatches) -> Result<Vec<MemberText>, Error> {
    let mut written = vec![];
    if let Some(path) = matches.get_one::<PathBuf>(FILE) {
        let text = files::read(path).map_err(failed)?.text;
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            // An unclosed quote is reported when the member is read.
            let comment = words(line).map_or(line.len(), |words| words.comment_at);
            let text = line[..comment].trim();
            if !text.is_empty() {
                written.push(MemberText { place, text: text.into() });
            }
        }
    }
    let typed = matches.get_many::<String>(MEMBERS).into_iter().flatten();
    written.extend(
        typed.map(|text| MemberText { place: format!("member \"{text}\""), text: text.clone() }),
    );
    Ok(written)
}

/// Reads a member.
fn member(written: &MemberText) -> Result<Member, Error> {
    let MemberText { place, text } = written;
    let words = words(text).map_err(|message| failed(format!("{place}: {message}")))?.words;
    let mut words = words.iter().map(String::as_str);
    let first = words.next().unwrap_or_default();
    let (name, benchmark) = match first.split_once('=') {
        Some((name, benchmark)) => (Some(name.to_string()), benchmark),
        None => (None, first),
    };
    let benchmark = schedlab_bench::find(benchmark)
        .ok_or_else(|| failed(format!("{place}: {}", unknown(benchmark))))?;
    let command = command_of(benchmark);
    let matches = command.try_get_matches_from(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => error,
        _ => failed(format!("{place}: {}", what_is_wrong(&error))),
    })?;
    Ok(Member {
        called: name,
        name: benchmark.name().into(),
        parameters: given_of(benchmark, &matches),
    })
}

/// A line split into words.
struct Words {
    words: Vec<String>,
    /// Start of its comment, or its end.
    comment_at: usize,
}

/// Splits a line into words as a shell does: blanks separate words, quotes enclose words with
/// blanks, and `#` at the beginning of a word begins a comment.
fn words(line: &str) -> Result<Words, String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut comment_at = line.len();
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => {
                comment_at = at;
                break;
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote ({open}) is not closed"));
    }
    words.extend(word);
    Ok(Words { words, comment_at })
}

/// Returns the message for an unknown benchmark, with the known ones.
fn unknown(name: &str) -> String {
    let names = || ALL.iter().map(|benchmark| benchmark.name());
    let close = close_names(name, names());
    match close.as_slice() {
        [] => {
            format!(
                "there is no benchmark \"{name}\"; the benchmarks are {}",
                names().collect::<Vec<_>>().join(", ")
            )
        }
        close => format!("there is no benchmark \"{name}\"; did you mean {}?", close.join(" or ")),
    }
}

/// Returns the message of `clap` without the text about the command line.
fn what_is_wrong(error: &Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(|line| line.trim_start_matches("error:").trim());
    let lines = lines.take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Returns the options of a benchmark, and the options of any member.
fn command_of(benchmark: &'static dyn Benchmark) -> Command {
    let command = Command::new(benchmark.name()).no_binary_name(true);
    let command = options_of(benchmark, command);
    let settings = SETTINGS.iter().map(|setting| {
        let name = setting_name(benchmark, &setting.name);
        option(setting).long(name).id(setting_aside(&setting.name))
    });
    command.next_help_heading("Member").args(settings)
}

/// Returns the settings of a member, in the order in which they are written.
fn given_of(benchmark: &'static dyn Benchmark, matches: &ArgMatches) -> Vec<Setting> {
    let mut all = given(benchmark, matches);
    for setting in SETTINGS {
        let id = setting_aside(&setting.name);
        if let Some(values) = matches.get_one::<Vec<Value>>(id) {
            let place = matches.index_of(id).unwrap_or(usize::MAX);
            all.push((place, setting_name(benchmark, &setting.name), values.clone()));
        }
    }
    all.sort_by_key(|(place, ..)| *place);
    all.into_iter().map(|(_, name, values)| setting(name, &values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_as_a_shell_does() {
        let of = |line: &str| words(line).map(|words| words.words.join("|"));
        assert_eq!(of("hackbench 10  --pipe # twice").as_deref(), Ok("hackbench|10|--pipe"));
        assert_eq!(of("a=game --time '1 '\"2#\"x#y").as_deref(), Ok("a=game|--time|1 2#x#y"));
        assert_eq!(of("x ''").as_deref(), Ok("x|"));
        assert_eq!(of("  # nothing").as_deref(), Ok(""));
        assert!(of("game --time 1 'abc").is_err_and(|message| message.contains("not closed")));
    }
}
