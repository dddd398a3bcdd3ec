//! Contradictions between the published documents, or between them and their subject:
//! `contradictions.toml`.

use crate::error::Error;
use serde::Deserialize;

/// A contradiction.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// Its id: `C-3`.
    pub id: String,
    /// The contradiction in words.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default, rename = "contradiction")]
    contradictions: Vec<Contradiction>,
}

/// Parses the file.
///
/// # Errors
/// The place and the mistake.
pub fn parse(text: &str) -> Result<Vec<Contradiction>, Error> {
    let Form { contradictions } = toml::from_str(text).map_err(Error::new)?;
    for (place, contradiction) in contradictions.iter().enumerate() {
        if contradictions[..place].iter().any(|earlier| earlier.id == contradiction.id) {
            return Err(format!("there are two contradictions {}", contradiction.id).into());
        }
    }
    Ok(contradictions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_checked() {
        let one = "[[contradiction]]\nid = \"C-1\"\ntext = \"x\"\n";
        assert_eq!(parse(one).expect("the text is well formed").len(), 1);
        assert!(
            parse(&one.repeat(2)).expect_err("twice").message.contains("two contradictions C-1")
        );
        assert!(
            parse("[[contradictions]]\n")
                .expect_err("no such key")
                .message
                .contains("unknown field")
        );
    }
}
