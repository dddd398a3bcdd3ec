//! Blocks of a document that are commands or files, with their marks.

/// Kind of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Commands, with their exit status, and whether they take minutes.
    Commands {
        /// Exit status.
        status: i32,
        /// Whether they run only on demand.
        slow: bool,
        /// Whether the block shows their output as it is.
        output: bool,
    },
    /// A file of this name.
    File(String),
    /// Neither commands nor a file.
    Other,
}

/// Fenced block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Kind of the block.
    pub kind: Kind,
    /// Number of its first line of text, from 1.
    pub line: usize,
    /// Text of the block.
    pub text: String,
    /// Whether it shows a session: commands after `$ `, and their output.
    session: bool,
}

impl Block {
    /// Returns its commands with their lines. A line that ends in `\` continues on the next.
    pub fn commands(&self) -> Vec<(usize, String)> {
        let mut commands: Vec<(usize, String)> = Vec::new();
        let mut goes_on = false;
        for (i, line) in self.text.lines().enumerate() {
            let command = match line.strip_prefix("$ ") {
                Some(command) => command,
                None if self.session && !goes_on => continue,
                None => line,
            };
            match commands.last_mut() {
                Some((_, last)) if goes_on => {
                    last.push('\n');
                    last.push_str(command);
                }
                _ if command.trim().is_empty() || command.starts_with('#') => continue,
                _ => commands.push((self.line + i, command.to_string())),
            }
            goes_on = command.ends_with('\\');
        }
        commands
    }

    /// Returns the output that the block shows after the command that begins in a line.
    pub fn shown(&self, line: usize) -> Vec<&str> {
        let lines = self.text.lines().skip(line - self.line);
        let mut goes_on = true;
        let command = |line: &&str| {
            let is_command = goes_on;
            goes_on = goes_on && line.ends_with('\\');
            is_command
        };
        lines.skip_while(command).take_while(|line| !line.starts_with("$ ")).collect()
    }
}

/// Returns the first line of `shown` that is not in `output`, where it should be. A line `...`
/// stands for any number of lines.
pub fn first_wrong<'a>(shown: &[&'a str], output: &str) -> Option<&'a str> {
    let output: Vec<&str> = output.lines().map(str::trim_end).collect();
    let mut at = 0;
    for (number, part) in shown.split(|line| *line == "...").enumerate() {
        // The first part is at the beginning, another at any place behind the one before.
        let last = if number == 0 { 0 } else { output.len() };
        let equal = |start: usize| {
            let rest = output.get(start..).unwrap_or_default();
            part.iter().zip(rest).take_while(|(a, b)| a == b).count()
        };
        let best = (at..=last.max(at)).max_by_key(|start| (equal(*start), usize::MAX - start));
        let best = best.unwrap_or(at);
        if let Some(wrong) = part.get(equal(best)) {
            return Some(wrong);
        }
        at = best + part.len();
    }
    None
}

/// Returns the blocks of a document, or the line and message of an invalid mark.
pub fn blocks(text: &str) -> Result<Vec<Block>, (usize, String)> {
    let mut blocks = Vec::new();
    let mut mark: Option<(usize, String)> = None;
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let number = i + 1;
        if let Some(language) = line.strip_prefix("```") {
            let session = language == "console";
            let kind = match mark.take() {
                None if language == "sh" || session => {
                    Kind::Commands { status: 0, slow: false, output: false }
                }
                None => Kind::Other,
                Some((at, mark)) => kind(&mark).ok_or_else(|| {
                    (at, format!("`{mark}` is none of file: NAME, test: status N, output [N], slow, skip WHY"))
                })?,
            };
            let mut text = String::new();
            loop {
                let Some((_, line)) = lines.next() else {
                    return Err((number, "the block is never closed".to_string()));
                };
                if line.starts_with("```") {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            blocks.push(Block { kind, line: number + 1, text, session });
        } else if let Some((at, mark)) = mark.take() {
            return Err((at, format!("`{mark}` must be on the line before a block")));
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            let comment = comment.trim_end_matches("-->").trim();
            if comment.starts_with("test:") || comment.starts_with("file:") {
                mark = Some((number, comment.to_string()));
            }
        }
    }
    match mark {
        Some((at, mark)) => Err((at, format!("`{mark}` must be on the line before a block"))),
        None => Ok(blocks),
    }
}

/// Parses a mark; `None`: it is invalid.
fn kind(mark: &str) -> Option<Kind> {
    if let Some(name) = mark.strip_prefix("file: ") {
        let plain = name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        return plain.then(|| Kind::File(name.to_string()));
    }
    match mark.strip_prefix("test: ")?.split_once(' ') {
        None if mark == "test: slow" => {
            Some(Kind::Commands { status: 0, slow: true, output: false })
        }
        None if mark == "test: output" => {
            Some(Kind::Commands { status: 0, slow: false, output: true })
        }
        Some(("status", n)) => {
            Some(Kind::Commands { status: n.parse().ok()?, slow: false, output: false })
        }
        Some(("output", n)) => {
            Some(Kind::Commands { status: n.parse().ok()?, slow: false, output: true })
        }
        Some(("skip", reason)) if !reason.is_empty() => Some(Kind::Other),
        _ => None,
    }
}
