//! Schedulers as users name them.

use schedlab_lab::select::{self, Choice};

/// What was chosen.
pub struct Chosen {
    /// Who.
    pub choice: Choice,
    /// Whether by its own name, rather than as one of many.
    pub named: bool,
}

/// The schedulers that `names` stand for, each once, in the order in which they are named.
pub fn choose(names: &[String]) -> Result<Vec<Chosen>, String> {
    let mut chosen: Vec<Chosen> = vec![];
    for name in names {
        let many = match name.trim() {
            "all" => Some(select::all()),
            "linux" => Some(select::linux()),
            "textbook" => Some(select::textbook()),
            _ => None,
        };
        let named = many.is_none();
        let choices = match many {
            Some(many) => many,
            None => vec![select::find(name.trim()).map_err(|error| error.to_string())?],
        };
        for choice in choices {
            match chosen.iter_mut().find(|other| other.choice == choice) {
                Some(other) => other.named |= named,
                None => chosen.push(Chosen { choice, named }),
            }
        }
    }
    Ok(chosen)
}
