//! The grammar of `cgconfig.conf`:
//!
//! ```text
//! file      = { mount | namespace | group | default | template | systemd }
//! mount     = "mount" "{" { controller "=" path ";" } "}"
//! namespace = "namespace" "{" { controller "=" path ";" } "}"   not for mounted controllers
//! group     = "group" name "{" [ perm ] { controller } "}"        at least one of the two
//! template  = "template" name "{" [ perm ] controller { controller } "}"
//! controller = name "{" { parameter "=" value ";" } "}"           each once in a group
//! perm      = "perm" "{" task admin "}"                           in either order
//! task      = "task" "{" { ("uid" | "gid" | "fperm") "=" value ";" } "}"
//! admin     = "admin" "{" { ("uid" | "gid" | "dperm" | "fperm") "=" value ";" } "}"
//! default   = "default" "{" perm "}"
//! systemd   = "systemd" "{" { ("slice" | "scope" | "setdefault" | "pid") "=" value ";" } "}"
//! ```

use super::super::parameter::{CONTROLLERS, OTHER_CONTROLLERS};
use super::super::settings::{GroupSettings, Setting};
use super::super::text::{Fault, Text, shown};
use super::token::{KEYWORDS, Kind, Token, Tokens};
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::group_path::normal_path;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Names of sections.
pub const SECTIONS: [&str; 6] = ["mount", "namespace", "group", "template", "default", "systemd"];

/// Contents of a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Settings of groups and templates, in the order written.
    pub settings: GroupSettings,
    /// By group (`None`) and template (its name): the number of its entries in
    /// [`settings`](Contents::settings).
    pub sections: Vec<(Option<TemplateName>, usize)>,
}

/// Path of a template, and the position of its name.
#[derive(Debug)]
pub struct TemplateName {
    pub path: String,
    pub span: Span,
}

/// Reads a file.
pub fn read(text: &Text) -> Result<Contents, Diagnostic> {
    let mut tokens = Tokens::new(text);
    let mut parser = Parser {
        next: tokens.next()?,
        tokens,
        text,
        read: Contents::default(),
        hierarchies: HashMap::new(),
    };
    while parser.next.kind != Kind::End {
        parser.section()?;
    }
    Ok(parser.read)
}

struct Parser<'a> {
    text: &'a Text,
    tokens: Tokens<'a>,
    /// Token that has not been taken yet.
    next: Token<'a>,
    read: Contents,
    /// Controllers of `mount` and `namespace` sections, each with that word.
    hierarchies: HashMap<&'a str, &'a str>,
}

impl<'a> Parser<'a> {
    fn section(&mut self) -> Result<(), Diagnostic> {
        let word = self.take()?;
        match (word.kind, word.text) {
            (Kind::Keyword, "mount" | "namespace") => self.hierarchies(word),
            (Kind::Keyword, "group") => self.group(false),
            (Kind::Keyword, "template") => self.group(true),
            (Kind::Keyword, "default") => {
                self.sign(b'{')?;
                if !self.at_keyword("perm") {
                    return Err(self.unexpected("`perm`"));
                }
                self.perm()?;
                self.sign(b'}')
            }
            (Kind::Keyword, "systemd") => {
                self.note(word.span, "`systemd` has no effect: systemd is not simulated");
                self.words(&["slice", "scope", "setdefault", "pid"])
            }
            _ => {
                let error =
                    self.unexpected_token(word, "a section (`group`, `template`, `mount` ...)");
                Err(error.with_help_if(did_you_mean(word.text, SECTIONS)))
            }
        }
    }

    /// Reads the rest of `mount` or `namespace`. A controller can be in one of them only.
    fn hierarchies(&mut self, word: Token<'a>) -> Result<(), Diagnostic> {
        let message = format!("`{}` has no effect: all groups are in one tree here", word.text);
        self.note(word.span, message);
        for (names, span) in self.assignments(None)? {
            for name in names.split(',') {
                if *self.hierarchies.entry(name).or_insert(word.text) != word.text {
                    let message =
                        format!("`{}` is listed under both `mount` and `namespace`", shown(name));
                    return Err(Fault::new(message).at(self.text, span, ""));
                }
            }
        }
        Ok(())
    }

    /// Reads the rest of a group or template.
    fn group(&mut self, template: bool) -> Result<(), Diagnostic> {
        let name = self.id("a name")?;
        let path = match name.text {
            "." => String::new(),
            name_text => normal_path(name_text)
                .map_err(|message| Fault::new(message).at(self.text, name.span, ""))?,
        };
        let path: Arc<str> = path.into();
        let first = self.read.settings.entries.len();
        if !template {
            self.read.settings.group(&path);
        }
        self.sign(b'{')?;
        let perm = self.at_keyword("perm");
        if perm {
            self.perm()?;
        }
        let mut controllers: HashSet<&str> = HashSet::new();
        while self.next.kind != Kind::Sign(b'}') {
            if self.at_keyword("perm") {
                let help = "`perm` comes once, before the controllers";
                return Err(self.unexpected("a controller").with_help(help));
            }
            let controller = self.id("a controller or `}`")?;
            if !controllers.insert(controller.text) {
                let message = format!("the controller `{}` is repeated", shown(controller.text));
                let fault = Fault::new(message).with_help("each can appear only once in a group");
                return Err(fault.at(self.text, controller.span, &path));
            }
            self.controller(&path, controller)?;
        }
        if controllers.is_empty() && (template || !perm) {
            let help = "for example `cpu { }`";
            return Err(self.unexpected("a controller").with_help(help));
        }
        self.sign(b'}')?;
        let count = self.read.settings.entries.len() - first;
        let section = template.then(|| TemplateName { path: path.to_string(), span: name.span });
        self.read.sections.push((section, count));
        Ok(())
    }

    /// Reads the parameters of a controller.
    fn controller(&mut self, path: &Arc<str>, controller: Token<'a>) -> Result<(), Diagnostic> {
        let name = controller.text;
        let known = CONTROLLERS.contains(&name);
        if !known {
            if !OTHER_CONTROLLERS.contains(&name) && !name.starts_with("name=") {
                let fault = Fault::new(format!("there is no controller `{}`", shown(name)));
                return Err(fault
                    .at(self.text, controller.span, path)
                    .with_help_if(did_you_mean(name, CONTROLLERS)));
            }
            let message = format!("`{name}` has no effect: the controller is not simulated");
            self.note(controller.span, message);
        }
        self.sign(b'{')?;
        while self.next.kind != Kind::Sign(b'}') {
            let parameter = self.id("a parameter or `}`")?;
            self.sign(b'=')?;
            let value = self.id("a value")?;
            self.sign(b';')?;
            if known {
                let setting = self.parameter(path, name, parameter, value)?;
                self.read.settings.set(path, setting);
            }
        }
        self.sign(b'}')
    }

    fn parameter(
        &self,
        path: &str,
        controller: &str,
        parameter: Token<'a>,
        value: Token<'a>,
    ) -> Result<Setting, Diagnostic> {
        let name = parameter.text;
        let prefix = name.split_once('.').map_or("", |(prefix, _)| prefix);
        if prefix != controller && CONTROLLERS.contains(&prefix) {
            let fault = Fault::new(format!("`{controller}` has no parameter `{}`", shown(name)))
                .with_help(format!("it belongs in `{prefix} {{ ... }}`"));
            return Err(fault.at(self.text, parameter.span, path));
        }
        if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            let fault = Fault::new(format!("unknown setting `{}`", shown(name)));
            return Err(fault.at(self.text, parameter.span, path));
        }
        let span = Span { start: parameter.span.start, end: value.span.end };
        Setting::read(self.text, path, (name, parameter.span), (value.text, span))
    }

    /// Reads `perm { task { ... } admin { ... } }`.
    fn perm(&mut self) -> Result<(), Diagnostic> {
        let word = self.take()?;
        self.note(word.span, "`perm` has no effect: owners and modes are not simulated");
        self.sign(b'{')?;
        let (mut task, mut admin) = (false, false);
        while self.next.kind != Kind::Sign(b'}') {
            if !task && self.at_keyword("task") {
                task = true;
                self.take()?;
                self.words(&["uid", "gid", "fperm"])?;
            } else if !admin && self.at_keyword("admin") {
                admin = true;
                self.take()?;
                self.words(&["uid", "gid", "dperm", "fperm"])?;
            } else {
                break;
            }
        }
        match (task, admin) {
            (true, true) => self.sign(b'}'),
            (true, false) => {
                Err(self.unexpected("`admin`").with_help("`perm` contains both `task` and `admin`"))
            }
            (false, true) => {
                Err(self.unexpected("`task`").with_help("`perm` contains both `task` and `admin`"))
            }
            (false, false) => Err(self.unexpected("`task` or `admin`")),
        }
    }

    /// Reads `{ KEY = VALUE; ... }` with these keys, none of which has an effect.
    fn words(&mut self, keys: &[&str]) -> Result<(), Diagnostic> {
        self.assignments(Some(keys)).map(|_| ())
    }

    /// Reads `{ KEY = VALUE; ... }` and returns the keys, which must be among `keys` if it is
    /// given.
    fn assignments(&mut self, keys: Option<&[&str]>) -> Result<Vec<(&'a str, Span)>, Diagnostic> {
        self.sign(b'{')?;
        let mut found = Vec::new();
        while self.next.kind != Kind::Sign(b'}') {
            let key = self.id("a name or `}`")?;
            if let Some(keys) = keys
                && !keys.contains(&key.text)
            {
                let fault = Fault::new(format!("unknown key `{}`", shown(key.text)));
                let fault = fault.with_help(format!("the keys are `{}`", keys.join("`, `")));
                return Err(fault.at(self.text, key.span, ""));
            }
            found.push((key.text, key.span));
            self.sign(b'=')?;
            self.id("a value")?;
            self.sign(b';')?;
        }
        self.sign(b'}')?;
        Ok(found)
    }

    fn note(&mut self, span: Span, message: impl Into<String>) {
        self.read.settings.note(self.text, span, message);
    }

    /// Takes the next token, and reads the one after it.
    fn take(&mut self) -> Result<Token<'a>, Diagnostic> {
        let after = self.tokens.next()?;
        Ok(std::mem::replace(&mut self.next, after))
    }

    fn at_keyword(&self, word: &str) -> bool {
        self.next.kind == Kind::Keyword && self.next.text == word
    }

    fn sign(&mut self, sign: u8) -> Result<(), Diagnostic> {
        if self.next.kind != Kind::Sign(sign) {
            return Err(self.unexpected(&format!("`{}`", sign as char)));
        }
        self.take().map(|_| ())
    }

    fn id(&mut self, what: &str) -> Result<Token<'a>, Diagnostic> {
        match self.next.kind {
            Kind::Id => self.take(),
            _ => Err(self.unexpected(what)),
        }
    }

    fn unexpected(&self, wanted: &str) -> Diagnostic {
        self.unexpected_token(self.next, wanted)
    }

    fn unexpected_token(&self, token: Token<'_>, wanted: &str) -> Diagnostic {
        let found = match token.kind {
            Kind::End => "the end of the file".to_string(),
            _ => format!("`{}`", shown(token.text)),
        };
        let error =
            Fault::new(format!("expected {wanted}, found {found}")).at(self.text, token.span, "");
        let keyword = token.kind == Kind::Keyword && KEYWORDS.contains(&token.text);
        error.with_help_if(
            keyword.then(|| format!("to use it as a name, put it in quotes: `\"{}\"`", token.text)),
        )
    }
}
