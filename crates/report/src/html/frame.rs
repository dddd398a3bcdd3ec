//! Frame of every page of this program: one file that needs nothing else, with a content security
//! policy that allows only its own scripts and style sheets, by their hashes: [`Frame`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// Page without its body.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Title; text.
    pub title: &'a str,
    /// Style sheets, in order.
    pub styles: &'a [&'a str],
    /// Scripts, in order: each uses those before it. They follow the body.
    pub scripts: &'a [&'a str],
    /// Licences and other notices, as a comment; may be empty. Must not contain `-->`.
    pub notice: &'a str,
}

impl Frame<'_> {
    /// Returns the page with `body`.
    pub fn around(&self, body: Markup) -> String {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content="schedlab";
                    title { (clean(self.title)) }
                    @for style in self.styles {
                        style { (PreEscaped(style)) }
                    }
                }
                body {
                    (body)
                    @if !self.notice.is_empty() {
                        (PreEscaped(format!("<!--\n{}\n-->\n", self.notice)))
                    }
                    @for script in self.scripts {
                        script { (PreEscaped(script)) }
                    }
                }
            }
        };
        markup.into_string()
    }

    /// Returns the content security policy: these scripts and style sheets, and nothing from
    /// elsewhere. (Scripts may set an element's `style` object without permission.)
    fn policy(&self) -> String {
        let hashes = |texts: &[&str]| {
            let hash = |text: &&str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
            texts.iter().map(hash).collect::<String>()
        };
        format!(
            "default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'",
            hashes(self.scripts),
            hashes(self.styles)
        )
    }
}

/// Escapes JSON for a `script` element: nothing in it ends the element or begins a comment.
pub fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Removes control characters, which HTML does not allow.
pub fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
