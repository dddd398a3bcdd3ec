//! Scripts of user halves, as their authors wrote them.

/// A value in a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number, `true` or `false`.
    Number(i128),
    /// An expression; characters, for an array of them.
    Text(String),
    /// Elements of an array, from the first.
    List(Vec<Value>),
    /// Members of a structure by name.
    Table(Vec<(String, Value)>),
}

/// Something that is set: where it stands in the script, its name, its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// `NAME`, `NAME[3].MEMBER`, before loading also `ops.FIELD`, `map.NAME.max_entries`.
    pub name: String,
    /// What it becomes.
    pub value: Value,
}

/// An entry of a map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The map.
    pub map: String,
    /// The key; none for queues and stacks.
    pub key: Option<Value>,
    /// The value, or those members of it that are set.
    pub value: Option<Value>,
    /// Whose value of a map by CPU; none: that of every CPU.
    pub cpu: Option<u32>,
    /// So many times, with `each` from 0 on.
    pub each: Option<Value>,
}

/// A program of section `syscall` that is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its name.
    pub program: String,
    /// What it is given: numbers of 32 bits, or members of `ty`.
    pub args: Value,
    /// The type of what it is given, `struct NAME`.
    pub ty: Option<String>,
    /// So many times, with `each` from 0 on.
    pub each: Option<Value>,
}

/// A record for a ring buffer that user space writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The map.
    pub map: String,
    /// What is written: bytes, or members of `ty`.
    pub value: Value,
    /// Its type, `struct NAME` or `u64`.
    pub ty: Option<String>,
    /// So many times, with `each` from 0 on.
    pub each: Option<Value>,
}

/// What is done once or again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// A variable is set.
    Set(Assignment),
    /// An entry is written; queues and stacks get one more.
    Write(Entry),
    /// An entry is deleted, if it is there.
    Delete(Entry),
    /// A record is written.
    Send(Record),
    /// A program is called.
    Call(Call),
    /// The value of an expression, or all entries of `map.NAME`, are told in the log.
    Read(String),
}

/// Something in a script with its place in it, for messages: `[[action]] 2: set`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located<T> {
    /// The place.
    pub place: String,
    /// What stands there.
    pub item: T,
}

/// Timing an action is due, from the moment at which the policy is attached, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// For the first time.
    pub first_ns: u64,
    /// Again after so long; none: once.
    pub every_ns: Option<u64>,
    /// Not later than this.
    pub until_ns: u64,
}

/// What is done at certain times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Timing.
    pub when: Timing,
    /// Only if this is not 0.
    pub only_if: Option<Located<String>>,
    /// What is done, in this order.
    pub statements: Vec<Located<Statement>>,
}

/// A script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    /// The CPU on which programs are called.
    pub cpu: u32,
    /// Arrays that get another number of elements before loading.
    pub resize: Vec<Located<Assignment>>,
    /// What is set before loading.
    pub set: Vec<Located<Assignment>>,
    /// Arrays of maps that get new maps: name, and how many.
    pub inner: Vec<Located<Assignment>>,
    /// What is done before the policy is attached, in this order.
    pub before: Vec<Located<Statement>>,
    /// What is done while it runs.
    pub actions: Vec<Action>,
}
