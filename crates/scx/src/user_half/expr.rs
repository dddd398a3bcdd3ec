//! Expressions in the script of a user half: numbers, values in the policy's memory, choices.
//!
//! `slice_ns / 2`, `map.stats[0].queued > 10 ? 1000000 : 5000000`, `cpus - 1`, `each % 2`.

use std::iter::Peekable;
use std::str::CharIndices;

/// Maximum depth of nesting.
const DEPTH_MAX: u32 = 32;

/// An expression, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ast {
    /// A number.
    Number(i128),
    /// A named item.
    Path(Path),
    /// `-a`, `!a`.
    Unary(char, Box<Ast>),
    /// `a + b` and the like.
    Binary(Op, Box<Ast>, Box<Ast>),
    /// `a ? b : c`.
    Choice(Box<[Ast; 3]>),
    /// `min(a, b)`, `max(a, b)`.
    Least(bool, Box<[Ast; 2]>),
}

/// A name followed by steps: `table[3].weight`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The name at its beginning.
    pub root: String,
    /// The steps that follow.
    pub steps: Vec<Step>,
}

/// A step from a value into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// `.NAME`.
    Member(String),
    /// `[INDEX]`.
    Index(Ast),
}

/// An operation on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Logical or.
    Or,
    /// Logical and.
    And,
    /// Equal.
    Eq,
    /// Different.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient. 0 for a division by 0, as in BPF.
    Div,
    /// Remainder. The dividend for a division by 0, as in BPF.
    Rem,
}

/// Operations by precedence, lowest first. Within a level, longer operators come before their
/// prefixes.
const LEVELS: [&[(&str, Op)]; 6] = [
    &[("||", Op::Or)],
    &[("&&", Op::And)],
    &[("==", Op::Eq), ("!=", Op::Ne)],
    &[("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)],
    &[("+", Op::Add), ("-", Op::Sub)],
    &[("*", Op::Mul), ("/", Op::Div), ("%", Op::Rem)],
];

impl Op {
    /// Applies the operation to two numbers. Results that are too large saturate.
    pub fn apply(self, a: i128, b: i128) -> i128 {
        match self {
            Op::Or => i128::from(a != 0 || b != 0),
            Op::And => i128::from(a != 0 && b != 0),
            Op::Eq => i128::from(a == b),
            Op::Ne => i128::from(a != b),
            Op::Lt => i128::from(a < b),
            Op::Le => i128::from(a <= b),
            Op::Gt => i128::from(a > b),
            Op::Ge => i128::from(a >= b),
            Op::Add => a.saturating_add(b),
            Op::Sub => a.saturating_sub(b),
            Op::Mul => a.saturating_mul(b),
            Op::Div => a.checked_div(b).unwrap_or(0),
            Op::Rem => a.checked_rem(b).unwrap_or(a),
        }
    }
}

/// Parses an expression.
///
/// # Errors
/// If it is malformed.
pub fn parse(text: &str) -> Result<Ast, String> {
    let mut parser = Parser { text, chars: text.char_indices().peekable(), depth: 0 };
    let ast = parser.choice()?;
    parser.end()?;
    Ok(ast)
}

/// Parses a name followed by steps.
///
/// # Errors
/// If it is malformed, or another expression.
pub fn parse_path(text: &str) -> Result<Path, String> {
    match parse(text)? {
        Ast::Path(path) => Ok(path),
        _ => Err(format!("{text:?} is not a name; write NAME, NAME[3] or NAME.MEMBER")),
    }
}

struct Parser<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    depth: u32,
}

impl Parser<'_> {
    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |&(at, _)| at)
    }

    fn skip(&mut self) {
        while self.chars.next_if(|(_, char)| char.is_whitespace()).is_some() {}
    }

    fn wrong<T>(&mut self, wanted: &str) -> Result<T, String> {
        let at = self.at();
        let rest: String = self.text[at..].chars().take(12).collect();
        Err(match rest.is_empty() {
            true => format!("{:?} ends where {wanted} is expected", self.text),
            false => format!("{:?}: expected {wanted}, found {rest:?}", self.text),
        })
    }

    /// Takes `word` if it comes next.
    fn take(&mut self, word: &str) -> bool {
        self.skip();
        let at = self.at();
        let is_there = self.text[at..].starts_with(word);
        if is_there {
            word.chars().for_each(|_| {
                self.chars.next();
            });
        }
        is_there
    }

    fn end(&mut self) -> Result<(), String> {
        self.skip();
        match self.chars.peek() {
            None => Ok(()),
            Some(_) => self.wrong("an operator or the end"),
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("{:?} is nested more than {DEPTH_MAX} deep", self.text));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn choice(&mut self) -> Result<Ast, String> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.deeper(Self::choice)?;
        if !self.take(":") {
            return self.wrong("':'");
        }
        let no = self.deeper(Self::choice)?;
        Ok(Ast::Choice(Box::new([condition, yes, no])))
    }

    fn binary(&mut self, level: usize) -> Result<Ast, String> {
        let Some(operations) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut count = 0;
        while let Some(&(_, op)) = operations.iter().find(|(word, _)| self.take(word)) {
            count += 1;
            if count > 256 {
                return Err(format!("{:.40}... is too long", self.text));
            }
            left = Ast::Binary(op, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Ast, String> {
        for sign in ['-', '!'] {
            if self.take(sign.encode_utf8(&mut [0; 4])) {
                let of = self.deeper(Self::unary)?;
                return Ok(Ast::Unary(sign, Box::new(of)));
            }
        }
        if self.take("(") {
            let inner = self.deeper(Self::choice)?;
            return match self.take(")") {
                true => Ok(inner),
                false => self.wrong("')'"),
            };
        }
        match self.chars.peek() {
            Some((_, first)) if first.is_ascii_digit() => self.number(),
            Some((_, first)) if is_start(*first) => self.name(),
            _ => self.wrong("a number or a name"),
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some((_, char)) =
            self.chars.next_if(|&(_, char)| is_start(char) || is_digit(char))
        {
            word.push(char);
        }
        word
    }

    fn number(&mut self) -> Result<Ast, String> {
        let word = self.word().replace('_', "");
        let number = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        let number: Option<u64> = number;
        match number {
            Some(number) => Ok(Ast::Number(number.into())),
            None => Err(format!("{:?}: {word:?} is not a 64-bit number", self.text)),
        }
    }

    fn name(&mut self) -> Result<Ast, String> {
        let root = self.word();
        if let "min" | "max" = root.as_str()
            && self.take("(")
        {
            let first = self.deeper(Self::choice)?;
            if !self.take(",") {
                return self.wrong("','");
            }
            let second = self.deeper(Self::choice)?;
            return match self.take(")") {
                true => Ok(Ast::Least(root == "min", Box::new([first, second]))),
                false => self.wrong("')'"),
            };
        }
        let mut steps = vec![];
        loop {
            if steps.len() > 64 {
                return Err(format!("{:.40}... is too long", self.text));
            }
            if self.take("[") {
                steps.push(Step::Index(self.deeper(Self::choice)?));
                if !self.take("]") {
                    return self.wrong("']'");
                }
            } else if self.take(".") {
                let name = self.word();
                if name.is_empty() {
                    return self.wrong("the name of a member");
                }
                steps.push(Step::Member(name));
            } else {
                return Ok(Ast::Path(Path { root, steps }));
            }
        }
    }
}

fn is_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of an expression without names.
    fn value(ast: &Ast) -> i128 {
        match ast {
            Ast::Number(number) => *number,
            Ast::Unary('-', of) => -value(of),
            Ast::Unary(_, of) => i128::from(value(of) == 0),
            Ast::Binary(op, a, b) => op.apply(value(a), value(b)),
            Ast::Choice(all) => value(&all[if value(&all[0]) != 0 { 1 } else { 2 }]),
            Ast::Least(least, of) if *least => value(&of[0]).min(value(&of[1])),
            Ast::Least(_, of) => value(&of[0]).max(value(&of[1])),
            Ast::Path(path) => panic!("{path:?} has no value"),
        }
    }

    #[test]
    fn operations_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 2 - 3", 5),
            ("7 / 2 % 2", 1),
            ("7 / 0", 0),
            ("7 % 0", 7),
            ("-3 + 5", 2),
            ("!0 + !5", 1),
            ("1 < 2 && 2 < 1 || 3 >= 3", 1),
            ("1 != 1 ? 5 : 2 == 2 ? 6 : 7", 6),
            ("min(3, max(1, 2))", 2),
            ("0xff_ff", 65535),
            ("18446744073709551615", i128::from(u64::MAX)),
        ] {
            assert_eq!(parse(text).map(|ast| value(&ast)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn names_lead_into_values() {
        let path = parse_path("table[each + 1].inner.weight").expect("the text is a path");
        assert_eq!(path.root, "table");
        assert_eq!(path.steps.len(), 3);
        assert!(matches!(&path.steps[0], Step::Index(Ast::Binary(Op::Add, ..))));
        assert_eq!(path.steps[2], Step::Member("weight".into()));
        assert!(parse_path("1 + 2").is_err_and(|what| what.contains("is not a name")));
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_place() {
        let wrong = |text: &str| parse(text).expect_err("the expression is malformed");
        assert_eq!(wrong("1 +"), "\"1 +\" ends where a number or a name is expected");
        assert_eq!(wrong("a b"), "\"a b\": expected an operator or the end, found \"b\"");
        assert!(wrong("(1").contains("')'"));
        assert!(wrong("a[1").contains("']'"));
        assert!(wrong("5ms").contains("is not a 64-bit number"));
        assert!(wrong("99999999999999999999").contains("not a 64-bit number"));
        assert!(wrong("a.").contains("the name of a member"));
        assert!(wrong("1 ? 2").contains("':'"));
        assert!(wrong("").contains("ends where a number"));
        assert!(wrong(&"(".repeat(1000)).contains("nested more than 32 deep"));
        assert!(wrong(&"-".repeat(1000)).contains("nested more than 32 deep"));
        assert!(wrong(&"1+".repeat(1000)).contains("too long"));
        assert!(wrong(&format!("a{}", "[0]".repeat(100))).contains("too long"));
        assert!(wrong("\u{e4}").contains("a number or a name"));
    }
}
