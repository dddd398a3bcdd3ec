//! Scripts of user halves, as users write them.

/// A value in a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number, `true` or `false`.
    Number(i128),
    /// An expression. For an array of characters, its text.
    Text(String),
    /// Elements of an array, from the first.
    List(Vec<Value>),
    /// Members of a structure by name.
    Table(Vec<(String, Value)>),
}

/// An assignment: name and value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// `NAME`, `NAME[3].MEMBER`. Before loading also `ops.FIELD`, `map.NAME.max_entries`.
    pub name: String,
    /// Its new value.
    pub value: Value,
}

/// An entry of a map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The map.
    pub map: String,
    /// The key. `None` for queues and stacks.
    pub key: Option<Value>,
    /// The value, or those members of it that are set.
    pub value: Option<Value>,
    /// The CPU whose value is set in a map with values per CPU. `None`: all CPUs.
    pub cpu: Option<u32>,
    /// Number of rounds, with `each` counting from 0.
    pub each: Option<Value>,
}

/// A call of a program of section `syscall`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its name.
    pub program: String,
    /// Its arguments: numbers of 32 bits, or members of `ty`.
    pub args: Value,
    /// The type of its arguments, `struct NAME`.
    pub ty: Option<String>,
    /// Number of rounds, with `each` counting from 0.
    pub each: Option<Value>,
}

/// A record for a ring buffer that user space writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The map.
    pub map: String,
    /// Its contents: bytes, or members of `ty`.
    pub value: Value,
    /// Its type, `struct NAME` or `u64`.
    pub ty: Option<String>,
    /// Number of rounds, with `each` counting from 0.
    pub each: Option<Value>,
}

/// A statement of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Sets a variable.
    Set(Assignment),
    /// Writes an entry. Queues and stacks get one more.
    Write(Entry),
    /// Deletes an entry, if it exists.
    Delete(Entry),
    /// Writes a record.
    Send(Record),
    /// Calls a program.
    Call(Call),
    /// Logs the value of an expression, or all entries of `map.NAME`.
    Read(String),
}

/// An item of a script with its place, for messages: `[[action]] 2: set`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located<T> {
    /// The place.
    pub place: String,
    /// The item.
    pub item: T,
}

/// Times at which an action is due, counted from the moment when the policy is attached, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// First time.
    pub first_ns: u64,
    /// Period. `None`: once.
    pub every_ns: Option<u64>,
    /// Last time.
    pub until_ns: u64,
}

/// Statements that run at certain times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Times at which it runs.
    pub when: Timing,
    /// Condition: it runs only if this is not 0.
    pub only_if: Option<Located<String>>,
    /// The statements, in order.
    pub statements: Vec<Located<Statement>>,
}

/// A script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    /// The CPU on which programs are called.
    pub cpu: u32,
    /// Arrays that are resized before loading.
    pub resize: Vec<Located<Assignment>>,
    /// Assignments before loading.
    pub set: Vec<Located<Assignment>>,
    /// Arrays of maps that get new maps: name, and number of maps.
    pub inner: Vec<Located<Assignment>>,
    /// Statements that run before the policy is attached, in order.
    pub before: Vec<Located<Statement>>,
    /// Actions while the policy runs.
    pub actions: Vec<Action>,
}
