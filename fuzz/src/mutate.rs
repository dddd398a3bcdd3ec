//! Changes inputs: like an editor, like a broken disk, and like an attacker who knows the language.

use schedlab_machine::SplitMix64;

/// Numbers at the limits of arithmetic.
const NUMBERS: [&str; 32] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "7",
    "63",
    "64",
    "65",
    "127",
    "255",
    "256",
    "1000",
    "1024",
    "4096",
    "4097",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "1e9",
    "1e308",
    "-1e-320",
];

/// Pieces that occur in none of the languages, or in all of them.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "\"",
    "'",
    "\\",
    "/",
    "*",
    "#",
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\u{1b}[31m",
    "\u{feff}",
    "é",
    "\\ud800",
    "\\u0000",
    "%",
    "@",
    "..",
    "-",
    "+",
    "null",
    "true",
    "false",
    "nan",
    "inf",
    "\u{202e}",
];

/// Makes inputs from others. The same seed makes the same inputs.
pub struct Mutator {
    random: SplitMix64,
    /// Words of the language. (Each reader has its own.)
    words: &'static [&'static str],
    /// Maximum length of an input, bytes.
    most: usize,
}

impl Mutator {
    /// Makes a mutator that knows `words` of a language and makes inputs of at most `most` bytes.
    pub fn new(seed: u64, words: &'static [&'static str], most: usize) -> Mutator {
        Mutator { random: SplitMix64::new(seed), words, most }
    }

    /// Returns a number below `bound`. 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.random.below(bound as u64) as usize }
    }

    /// Changes `input`, with pieces of `other`.
    pub fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let changes = match self.below(8) {
            0..4 => 1,
            4..6 => 2,
            6 => 4,
            _ => 8,
        };
        for _ in 0..changes {
            self.change_once(input, other);
        }
        input.truncate(self.most);
    }

    fn change_once(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        match self.below(24) {
            20.. => self.insert_member(input),
            0 => {
                let at = self.below(input.len());
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.random.below(8);
                }
            }
            1 => {
                let at = self.below(input.len());
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.random.next_u64() as u8;
                }
            }
            2 | 3 => {
                let part = self.part(input.len());
                input.drain(part);
            }
            4 => {
                let part = self.part(input.len());
                let copy = input[part].to_vec();
                self.insert(input, &copy);
            }
            5 | 6 => {
                let piece = self.piece();
                self.insert(input, piece.as_bytes());
            }
            7..10 => {
                let token = self.token(input);
                let piece = self.piece();
                input.splice(token, piece.bytes());
            }
            10..13 => {
                if let Some(number) = self.number(input) {
                    let piece = NUMBERS[self.below(NUMBERS.len())];
                    input.splice(number, piece.bytes());
                }
            }
            13 => {
                let from = self.below(other.len());
                let at = self.below(input.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            14 => {
                let (token, theirs) = (self.token(input), self.token(other));
                input.splice(token, other[theirs].iter().copied());
            }
            15 => {
                let (block, theirs) = (self.block(input), self.block(other));
                input.splice(block, other[theirs].iter().copied());
            }
            16 => {
                let block = self.block(input);
                let copy = [&input[block.clone()], b",".as_slice()].concat();
                input.splice(block.start..block.start, copy);
            }
            17 => {
                let at = self.below(input.len());
                input.truncate(at);
            }
            18 => {
                let lines: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
                let (from, to) = (self.below(lines.len()), self.below(lines.len()));
                let mut lines = lines;
                if from < lines.len() && to < lines.len() {
                    if self.below(2) == 0 {
                        lines.swap(from, to);
                    } else {
                        lines.insert(to, lines[from]);
                    }
                }
                *input = lines.concat();
            }
            _ => {
                let deep = if self.below(50) == 0 { self.most / 8 } else { 1 + self.below(20) };
                let open = ["[", "(", "{\"a\":", "-", "\"", "/a", "{"][self.below(7)];
                self.insert(input, open.repeat(deep).as_bytes());
            }
        }
    }

    /// Inserts a word of the language as the first item in a bracket, with a comma, or between
    /// words if there are no brackets. The result is often meaningful.
    fn insert_member(&mut self, input: &mut Vec<u8>) {
        if self.words.is_empty() {
            return;
        }
        let mut member = self.words[self.below(self.words.len())].to_string();
        if member.ends_with([' ', '=']) {
            member += NUMBERS[self.below(NUMBERS.len())];
        }
        if member.ends_with(['{', '[', '(']) {
            member.push(if member.ends_with('{') {
                '}'
            } else if member.ends_with('[') {
                ']'
            } else {
                ')'
            });
        }
        let from = self.below(input.len());
        let opens = |byte: &u8| b"{[(".contains(byte);
        match input[from..].iter().position(opens).map(|n| from + n) {
            Some(open) => {
                let rest = input[open + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                if rest.is_some_and(|byte| !b"}])".contains(byte)) {
                    member.push(',');
                }
                input.splice(open + 1..open + 1, member.bytes());
            }
            None => {
                let ends = |byte: &u8| byte.is_ascii_whitespace();
                let at = input[from..].iter().position(ends).map_or(input.len(), |n| from + n);
                let member = format!(" {member} ");
                input.splice(at..at, member.bytes());
            }
        }
    }

    /// Returns a word of the language, a general piece, or a number.
    fn piece(&mut self) -> &'static str {
        match self.below(8) {
            0 => NUMBERS[self.below(NUMBERS.len())],
            1 | 2 => PIECES[self.below(PIECES.len())],
            _ if self.words.is_empty() => PIECES[self.below(PIECES.len())],
            _ => self.words[self.below(self.words.len())],
        }
    }

    fn insert(&mut self, input: &mut Vec<u8>, piece: &[u8]) {
        let at = self.below(input.len() + 1);
        input.splice(at..at, piece.iter().copied());
    }

    /// Returns a range of adjacent bytes, usually a short one.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = if self.below(4) == 0 { length } else { 12 };
        let end = start + 1 + self.below(most);
        start..end.min(length).max(start)
    }

    /// Returns a word, a number or a sign.
    fn token(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let at = self.below(input.len());
        let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
        let start = input[..at].iter().rposition(|byte| !in_word(byte)).map_or(0, |end| end + 1);
        let end =
            input[at..].iter().position(|byte| !in_word(byte)).map_or(input.len(), |n| at + n);
        if end > start { start..end } else { at..(at + 1).min(input.len()) }
    }

    /// Returns the first number after a random position, if any.
    fn number(&mut self, input: &[u8]) -> Option<std::ops::Range<usize>> {
        let at = self.below(input.len());
        let start = at + input[at..].iter().position(u8::is_ascii_digit)?;
        let in_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let length = input[start..].iter().position(|byte| !in_number(byte));
        Some(start..length.map_or(input.len(), |length| start + length))
    }

    /// Returns the first bracketed range after a random position, if any. Else a part.
    fn block(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let at = self.below(input.len());
        let opens = |byte: &u8| b"{[(".contains(byte);
        let Some(start) = input[at..].iter().position(opens).map(|n| at + n) else {
            return self.part(input.len());
        };
        let mut depth = 0;
        for (offset, byte) in input[start..].iter().enumerate() {
            depth += i32::from(opens(byte)) - i32::from(b"}])".contains(byte));
            if depth == 0 {
                return start..start + offset + 1;
            }
        }
        start..input.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_and_nothing_is_too_long() {
        let make = |seed| {
            let mut mutator = Mutator::new(seed, &["run", "sleep"], 200);
            let mut inputs = vec![b"{\"run\": [1, 20]}\n# more\n".to_vec(), vec![]];
            for number in 0..2_000 {
                let mut input = inputs[number % inputs.len()].clone();
                let other = inputs[number % 7 % inputs.len()].clone();
                mutator.change(&mut input, &other);
                assert!(input.len() <= 200);
                inputs.push(input);
            }
            inputs
        };
        assert_eq!(make(1), make(1));
        let made = make(1);
        assert_ne!(made, make(2));
        let distinct: std::collections::BTreeSet<_> = made.iter().collect();
        assert!(distinct.len() > 1_500, "{}", distinct.len());
    }
}
