//! Expressions of a user half whose names have been resolved, and their evaluation.

use super::expr::Op;

/// An expression that evaluates to a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Expr {
    Number(i128),
    /// Number of CPUs of the machine.
    Cpus,
    /// Time since the run began, ns.
    Now,
    /// Number of the round.
    Each,
    /// A number in memory.
    Load(Place),
    /// A number in the value of a map, at `place` from its beginning. 0 if there is no such entry.
    /// For maps with values per CPU, the sum.
    Entry {
        map: usize,
        key: Box<Expr>,
        place: Place,
    },
    Unary(char, Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    Choice(Box<[Expr; 3]>),
    Least(bool, Box<[Expr; 2]>),
}

/// Place of a number: bytes from an address, or from the beginning of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    /// Indices that are known only at run time: the index, the distance between elements in bytes,
    /// the number of elements.
    pub(super) indices: Vec<(Expr, u32, u32)>,
    pub(super) size: u32,
    pub(super) is_signed: bool,
    /// The first bit and the number of bits of a bit field.
    pub(super) bits: Option<(u32, u32)>,
}

/// Inputs of an evaluation.
pub(super) trait Context {
    fn cpus(&self) -> u32;
    fn now_ns(&self) -> u64;
    fn each(&self) -> u64;
    /// Loads `size` bytes from memory.
    fn load(&self, at: u64, size: u32) -> u64;
    /// Addresses of a value: one, or one per CPU.
    fn values(&self, map: usize, key: u64) -> Vec<u64>;
}

/// Inputs that are known before the policy is loaded.
pub(super) struct Constants {
    pub(super) cpus: u32,
}

impl Context for Constants {
    fn cpus(&self) -> u32 {
        self.cpus
    }
    fn now_ns(&self) -> u64 {
        0
    }
    fn each(&self) -> u64 {
        0
    }
    fn load(&self, _: u64, _: u32) -> u64 {
        0
    }
    fn values(&self, _: usize, _: u64) -> Vec<u64> {
        vec![]
    }
}

impl Place {
    pub(super) fn at(at: u64) -> Place {
        Place { at, indices: vec![], size: 0, is_signed: false, bits: None }
    }

    /// Returns its current address. `None`: an index is out of range.
    pub(super) fn address(&self, context: &dyn Context) -> Option<u64> {
        self.indices.iter().try_fold(self.at, |at, (index, stride, len)| {
            let index = index.value(context);
            (0..i128::from(*len)).contains(&index).then(|| at + index as u64 * u64::from(*stride))
        })
    }

    /// Converts bits in memory to the number that they represent.
    fn number(&self, mut word: u64) -> i128 {
        let mut width = 8 * self.size;
        if let Some((shift, bits)) = self.bits {
            (word, width) = (word >> shift.min(63), bits);
        }
        let unused = 64 - width.clamp(1, 64);
        match self.is_signed {
            true => i128::from((word << unused) as i64 >> unused),
            false => i128::from(word << unused >> unused),
        }
    }
}

impl Expr {
    /// Returns its current value. Elements beyond the end of an array are 0.
    pub(super) fn value(&self, context: &dyn Context) -> i128 {
        let load = |place: &Place, base: u64| match place.address(context) {
            Some(at) => place.number(context.load(base + at, place.size)),
            None => 0,
        };
        match self {
            Expr::Number(number) => *number,
            Expr::Cpus => context.cpus().into(),
            Expr::Now => context.now_ns().into(),
            Expr::Each => context.each().into(),
            Expr::Load(place) => load(place, 0),
            Expr::Entry { map, key, place } => {
                let key = key.value(context) as u64;
                let values = context.values(*map, key);
                values.iter().map(|&base| load(place, base)).sum()
            }
            Expr::Unary('-', of) => of.value(context).saturating_neg(),
            Expr::Unary(_, of) => i128::from(of.value(context) == 0),
            Expr::Binary(op, a, b) => op.apply(a.value(context), b.value(context)),
            Expr::Choice(all) => {
                let [condition, yes, no] = &**all;
                if condition.value(context) != 0 { yes.value(context) } else { no.value(context) }
            }
            Expr::Least(least, of) => {
                let (a, b) = (of[0].value(context), of[1].value(context));
                if *least { a.min(b) } else { a.max(b) }
            }
        }
    }

    /// Returns its value, if it depends only on the machine.
    pub(super) fn known(&self, cpus: u32) -> Option<i128> {
        let is_known = match self {
            Expr::Number(_) | Expr::Cpus => true,
            Expr::Now | Expr::Each | Expr::Load(_) | Expr::Entry { .. } => false,
            Expr::Unary(_, of) => of.known(cpus).is_some(),
            Expr::Binary(_, a, b) => a.known(cpus).is_some() && b.known(cpus).is_some(),
            Expr::Choice(all) => all.iter().all(|one| one.known(cpus).is_some()),
            Expr::Least(_, of) => of.iter().all(|one| one.known(cpus).is_some()),
        };
        is_known.then(|| self.value(&Constants { cpus }))
    }
}
