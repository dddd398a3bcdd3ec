//! Options that were given on the command line, by clap's own definitions: a plan describes a whole
//! run, so options that would change the run cannot be given with it. A new option counts as one of
//! these unless it is named as an exception.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments given on the command line, by identifier.
///
/// Flattened into other arguments, it defines no additional argument. It must be their first field:
/// clap removes values from the matches as it fills the fields.
#[derive(Clone, Debug, Default)]
pub struct GivenArgs(Vec<String>);

impl GivenArgs {
    /// Returns the arguments that were given in `matches`.
    pub fn of(matches: &ArgMatches) -> GivenArgs {
        let given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let ids = matches.ids().map(|id| id.as_str());
        GivenArgs(ids.filter(given).map(str::to_string).collect())
    }

    /// Returns the identifiers of the options of `A` that were given, except `exceptions`, in the
    /// order of their definitions. Positional arguments are not options.
    pub fn options<A: Args>(&self, exceptions: &[&str]) -> Vec<String> {
        definitions::<A>()
            .filter(|(id, _)| self.0.contains(id) && !exceptions.contains(&&**id))
            .filter_map(|(id, long)| long.map(|_| id))
            .collect()
    }

    /// Returns the long name of the first option of `A` that was given, except `exceptions`.
    pub fn first_option<A: Args>(&self, exceptions: &[&str]) -> Option<String> {
        definitions::<A>()
            .filter(|(id, _)| self.0.contains(id) && !exceptions.contains(&&**id))
            .find_map(|(_, long)| long)
    }
}

/// Returns the identifiers and long names of the arguments of `A`.
pub fn definitions<A: Args>() -> impl Iterator<Item = (String, Option<String>)> {
    let command = A::augment_args(Command::new("arguments"));
    let definitions: Vec<_> = command
        .get_arguments()
        .map(|argument| (argument.get_id().to_string(), argument.get_long().map(str::to_string)))
        .collect();
    definitions.into_iter()
}

impl FromArgMatches for GivenArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<GivenArgs, Error> {
        Ok(GivenArgs::of(matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = GivenArgs::of(matches);
        Ok(())
    }
}

impl Args for GivenArgs {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
