//! BTF: the types of an object, and the data about its instructions in `.BTF.ext`.

use crate::elf::Bytes;
use crate::error::ObjectError;

/// Magic number at the beginning of BTF.
const MAGIC: u16 = 0xeb9f;

/// Maximum length of a chain of types before one with a size. A longer chain is a cycle.
const DEPTH_MAX: u32 = 64;

/// A member of a structure or union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name. Empty if it is anonymous.
    pub name: String,
    /// Its type.
    pub ty: u32,
    /// Its offset from the start, bits.
    pub bit_offset: u32,
    /// Its width in bits if it is a bit field, else 0.
    pub bits: u32,
}

/// A variable in a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionVar {
    /// The variable, a type of kind [`Kind::Var`] (or [`Kind::Func`] in `.ksyms`).
    pub ty: u32,
    /// Its offset in the section, bytes. 0 for all variables in objects that were not linked.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
}

/// Kind of a type, with its details.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `void`.
    Void,
    /// An integer.
    Int {
        /// Size, bytes.
        size: u32,
        /// Whether it is signed.
        is_signed: bool,
    },
    /// A pointer to a type.
    Ptr(u32),
    /// An array of `len` elements.
    Array {
        /// Type of the elements.
        element: u32,
        /// Number of elements.
        len: u32,
    },
    /// A structure or union.
    Struct {
        /// Size, bytes.
        size: u32,
        /// Whether it is a union.
        is_union: bool,
        /// Its members in the order of their declaration.
        members: Vec<Member>,
    },
    /// An enumeration.
    Enum {
        /// Size, bytes.
        size: u32,
        /// Names and values.
        values: Vec<(String, i64)>,
    },
    /// A structure or union that is declared but not defined.
    Forward,
    /// An alias of a type.
    Typedef(u32),
    /// `const`, `volatile`, `restrict`, or a type tag.
    Modifier(u32),
    /// A function with its prototype.
    Func {
        /// The prototype.
        proto: u32,
        /// Whether it is defined in another file.
        is_extern: bool,
    },
    /// A prototype.
    Proto {
        /// Type of the result.
        returns: u32,
        /// Types of its parameters; a 0 at the end stands for `...`.
        params: Vec<u32>,
    },
    /// A variable.
    Var {
        /// Its type.
        ty: u32,
        /// Whether it is defined in another file.
        is_extern: bool,
    },
    /// A section with its variables.
    Section(Vec<SectionVar>),
    /// A floating-point number, with its size in bytes.
    Float(u32),
    /// A tag of a declaration.
    DeclTag(u32),
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// Its name. Empty if it has none.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

/// All types of an object by number. Type 0 is `void`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Btf {
    types: Vec<Type>,
}

impl Default for Btf {
    fn default() -> Self {
        Btf { types: vec![Type { name: String::new(), kind: Kind::Void }] }
    }
}

/// Returns a name up to `___`. The rest distinguishes flavours of one type.
pub fn essential_name(name: &str) -> &str {
    match name.find("___") {
        Some(0) | None => name,
        Some(end) => &name[..end],
    }
}

fn fault(what: impl Into<String>) -> ObjectError {
    ObjectError::new("section .BTF", what)
}

/// Returns the length of a section's header: offsets of its parts count from the header's end.
fn header_len(bytes: &Bytes<'_>, section: &str) -> Result<u64, ObjectError> {
    let place = format!("section {section}");
    let (Some(magic), Some(version), Some(len)) = (bytes.u16(0), bytes.u8(2), bytes.u32(4)) else {
        return Err(ObjectError::new(place, "it is cut short within its header"));
    };
    if magic != MAGIC {
        let what = format!("it begins with {magic:#06x}; BTF begins with {MAGIC:#06x}");
        return Err(ObjectError::new(place, what));
    }
    if version != 1 {
        return Err(ObjectError::new(place, format!("version {version}; there is only version 1")));
    }
    Ok(u64::from(len))
}

/// Reads consecutive numbers.
struct Cursor<'a> {
    bytes: Bytes<'a>,
    at: u64,
}

impl Cursor<'_> {
    fn u32(&mut self) -> Option<u32> {
        let value = self.bytes.u32(self.at)?;
        self.at += 4;
        Some(value)
    }
}

impl Btf {
    /// Reads the section `.BTF`.
    ///
    /// # Errors
    /// If it is damaged, or refers to missing types.
    pub fn read(section: &[u8]) -> Result<Btf, ObjectError> {
        let bytes = Bytes(section);
        let start = header_len(&bytes, ".BTF")?;
        let part = |at: u64| -> Option<&[u8]> {
            let (offset, len) = (u64::from(bytes.u32(at)?), u64::from(bytes.u32(at + 4)?));
            bytes.slice(start.checked_add(offset)?, len)
        };
        let types = part(8).ok_or_else(|| fault("the types lie beyond its end"))?;
        let names = part(16).ok_or_else(|| fault("the names lie beyond its end"))?;
        let names = Bytes(names);
        let mut cursor = Cursor { bytes: Bytes(types), at: 0 };
        let mut btf = Btf::default();
        while cursor.at < types.len() as u64 {
            let id = btf.types.len();
            let read = read_type(&mut cursor, &names);
            let ty = read.ok_or_else(|| fault(format!("type {id} is cut short")))?;
            btf.types.push(ty.map_err(|kind| {
                fault(format!("type {id} is of kind {kind}; kinds 1 to 19 are known"))
            })?);
        }
        btf.check_references()?;
        Ok(btf)
    }

    fn check_references(&self) -> Result<(), ObjectError> {
        for (id, ty) in self.types.iter().enumerate() {
            let mut references: Vec<u32> = vec![];
            match &ty.kind {
                Kind::Ptr(ty) | Kind::Typedef(ty) | Kind::Modifier(ty) | Kind::DeclTag(ty) => {
                    references.push(*ty);
                }
                Kind::Array { element, .. } => references.push(*element),
                Kind::Struct { members, .. } => {
                    references.extend(members.iter().map(|member| member.ty));
                }
                Kind::Func { proto: ty, .. } | Kind::Var { ty, .. } => references.push(*ty),
                Kind::Proto { returns, params } => {
                    references.push(*returns);
                    references.extend(params);
                }
                Kind::Section(vars) => references.extend(vars.iter().map(|var| var.ty)),
                Kind::Void
                | Kind::Int { .. }
                | Kind::Enum { .. }
                | Kind::Forward
                | Kind::Float(_) => (),
            }
            if let Some(missing) = references.iter().find(|&&to| to as usize >= self.types.len()) {
                let last = self.types.len() - 1;
                let what = format!("type {id} refers to type {missing}; the last is {last}");
                return Err(fault(what));
            }
        }
        Ok(())
    }

    /// Returns the number of types, including `void`.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are no types except `void`.
    pub fn is_empty(&self) -> bool {
        self.types.len() == 1
    }

    /// Returns the type with this number. `void` if there is none.
    pub fn get(&self, id: u32) -> &Type {
        self.types.get(id as usize).unwrap_or(&self.types[0])
    }

    /// Returns all types with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Type)> {
        self.types.iter().enumerate().map(|(id, ty)| (id as u32, ty))
    }

    /// Returns the number of the type behind typedefs, qualifiers and tags. `void` for a cycle of
    /// them.
    pub fn resolve_id(&self, mut id: u32) -> u32 {
        for _ in 0..DEPTH_MAX {
            match self.get(id).kind {
                Kind::Typedef(ty) | Kind::Modifier(ty) => id = ty,
                _ => return id,
            }
        }
        0
    }

    /// Returns the type behind typedefs, qualifiers and tags.
    pub fn resolve(&self, id: u32) -> &Type {
        self.get(self.resolve_id(id))
    }

    /// Returns the size of a type, bytes. `None` if it has none, or one that does not fit.
    pub fn size_of(&self, id: u32) -> Option<u32> {
        self.size_within(id, 0)
    }

    fn size_within(&self, id: u32, depth: u32) -> Option<u32> {
        if depth > DEPTH_MAX {
            return None;
        }
        match &self.resolve(id).kind {
            Kind::Int { size, .. } | Kind::Struct { size, .. } | Kind::Enum { size, .. } => {
                Some(*size)
            }
            Kind::Float(size) => Some(*size),
            Kind::Ptr(_) => Some(8),
            Kind::Array { element, len } => {
                self.size_within(*element, depth + 1)?.checked_mul(*len)
            }
            Kind::Var { ty, .. } => self.size_within(*ty, depth + 1),
            _ => None,
        }
    }

    /// Returns the name of a type in C: `u64`, `struct task_ctx`, `u32[4]`. Empty if it has none.
    pub fn type_name(&self, id: u32) -> String {
        let mut id = id;
        // The limit ends the loop if the types form a cycle.
        for _ in 0..self.len().min(64) {
            let ty = self.get(id);
            match ty.kind {
                Kind::Modifier(to) => id = to,
                Kind::Ptr(to) => {
                    let to = self.get(to);
                    let name = if to.name.is_empty() { "void" } else { &to.name };
                    return format!("{name} *");
                }
                Kind::Array { element, len } => {
                    let element = self.resolve(element);
                    return format!("{}[{len}]", element.name);
                }
                Kind::Struct { is_union, .. } => {
                    let kind = if is_union { "union" } else { "struct" };
                    return format!("{kind} {}", ty.name).trim_end().into();
                }
                Kind::Enum { .. } => return format!("enum {}", ty.name).trim_end().into(),
                _ => return ty.name.clone(),
            }
        }
        String::new()
    }

    /// Whether a number, or the elements of an array, are signed.
    pub fn is_signed(&self, id: u32) -> bool {
        match self.resolve(id).kind {
            Kind::Int { is_signed, .. } => is_signed,
            Kind::Array { element, .. } => {
                matches!(self.resolve(element).kind, Kind::Int { is_signed: true, .. })
            }
            _ => false,
        }
    }

    /// Returns the section with this name, with its variables.
    pub fn section(&self, name: &str) -> Option<&[SectionVar]> {
        self.types.iter().find_map(|ty| match &ty.kind {
            Kind::Section(vars) if ty.name == name => Some(vars.as_slice()),
            _ => None,
        })
    }

    /// Returns the function with this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        let mut all = self.iter();
        let found = all.find(|(_, ty)| matches!(ty.kind, Kind::Func { .. }) && ty.name == name);
        found.map(|(id, _)| id)
    }

    /// Returns the number of parameters of the function `id`, and whether it returns a value.
    /// `None` if it is not a function. `...` counts as a parameter.
    pub fn prototype(&self, id: u32) -> Option<(usize, bool)> {
        let Kind::Func { proto, .. } = self.get(id).kind else { return None };
        let Kind::Proto { returns, params } = &self.resolve(proto).kind else { return None };
        Some((params.len(), !matches!(self.resolve(*returns).kind, Kind::Void)))
    }

    /// Returns the members of the structure `id`. `None` if it is not a structure.
    pub fn members(&self, id: u32) -> Option<&[Member]> {
        match &self.resolve(id).kind {
            Kind::Struct { members, .. } => Some(members),
            _ => None,
        }
    }
}

/// Reads a type. The inner error is the number of an unknown kind.
fn read_type(cursor: &mut Cursor<'_>, names: &Bytes<'_>) -> Option<Result<Type, u32>> {
    let name = names.text(u64::from(cursor.u32()?))?;
    let info = cursor.u32()?;
    let size = cursor.u32()?;
    let (count, number, flag) = (info & 0xffff, info >> 24 & 0x1f, info >> 31 == 1);
    let kind = match number {
        1 => Kind::Int { size, is_signed: cursor.u32()? >> 24 & 1 == 1 },
        2 => Kind::Ptr(size),
        3 => {
            let (element, _index, len) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            Kind::Array { element, len }
        }
        4 | 5 => {
            let mut members = Vec::new();
            for _ in 0..count {
                let name = names.text(u64::from(cursor.u32()?))?;
                let (ty, offset) = (cursor.u32()?, cursor.u32()?);
                let (bits, bit_offset) =
                    if flag { (offset >> 24, offset & 0xff_ffff) } else { (0, offset) };
                members.push(Member { name, ty, bit_offset, bits });
            }
            Kind::Struct { size, is_union: number == 5, members }
        }
        6 | 19 => {
            let mut values = Vec::new();
            for _ in 0..count {
                let name = names.text(u64::from(cursor.u32()?))?;
                let low = cursor.u32()?;
                let value = match (number, flag) {
                    (6, true) => i64::from(low as i32),
                    (6, false) => i64::from(low),
                    _ => (u64::from(cursor.u32()?) << 32 | u64::from(low)) as i64,
                };
                values.push((name, value));
            }
            Kind::Enum { size, values }
        }
        7 => Kind::Forward,
        8 => Kind::Typedef(size),
        9 | 10 | 11 | 18 => Kind::Modifier(size),
        12 => Kind::Func { proto: size, is_extern: count == 2 },
        13 => {
            let mut params = Vec::new();
            for _ in 0..count {
                cursor.u32()?;
                params.push(cursor.u32()?);
            }
            Kind::Proto { returns: size, params }
        }
        14 => Kind::Var { ty: size, is_extern: cursor.u32()? == 2 },
        15 => {
            let mut vars = Vec::new();
            for _ in 0..count {
                let (ty, offset, size) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
                vars.push(SectionVar { ty, offset, size });
            }
            Kind::Section(vars)
        }
        16 => Kind::Float(size),
        17 => {
            cursor.u32()?;
            Kind::DeclTag(size)
        }
        _ => return Some(Err(number)),
    };
    Some(Ok(Type { name, kind }))
}

/// A relocation: changes an instruction that depends on the kernel's types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoreRelocation {
    /// The instruction, bytes from the start of its section.
    pub offset: u32,
    /// The type of the object that it refers to.
    pub ty: u32,
    /// Path to the member: indices separated by `:`.
    pub access: String,
    /// Kind of the relocation, `BPF_CORE_*`, 0 to 12.
    pub kind: u32,
}

/// The source line that an instruction was compiled from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The first instruction compiled from it, bytes from the start of its section.
    pub offset: u32,
    /// The source file's name.
    pub file: String,
    /// The line's number.
    pub line: u32,
}

/// Contents of the section `.BTF.ext`, by the name of the section of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BtfExt {
    /// Source lines.
    pub lines: Vec<(String, Vec<Line>)>,
    /// Relocations.
    pub core: Vec<(String, Vec<CoreRelocation>)>,
}

impl BtfExt {
    /// Reads the section `.BTF.ext`; `btf` is the section `.BTF`, which holds the names.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn read(section: &[u8], btf: &[u8]) -> Result<BtfExt, ObjectError> {
        let bytes = Bytes(section);
        let start = header_len(&bytes, ".BTF.ext")?;
        let cut = |what: &str| ObjectError::new("section .BTF.ext", format!("{what} cut short"));
        let names = names_of(btf).ok_or_else(|| fault("the names lie beyond its end"))?;
        let part = |at: u64| -> Option<&[u8]> {
            let (offset, len) = (u64::from(bytes.u32(at)?), u64::from(bytes.u32(at + 4)?));
            bytes.slice(start.checked_add(offset)?, len)
        };
        let mut ext = BtfExt::default();
        let lines = part(16).ok_or_else(|| cut("the lines of the source are"))?;
        ext.lines = read_records(lines, &names, 16, |record| {
            let file = names.text(u64::from(record.u32(4)?))?;
            Some(Line { offset: record.u32(0)?, file, line: record.u32(12)? >> 10 })
        })
        .ok_or_else(|| cut("the lines of the source are"))?;
        // Compilers before CO-RE wrote a header without the third part.
        if start >= 32 {
            let core = part(24).ok_or_else(|| cut("the relocations are"))?;
            ext.core = read_records(core, &names, 16, |record| {
                Some(CoreRelocation {
                    offset: record.u32(0)?,
                    ty: record.u32(4)?,
                    access: names.text(u64::from(record.u32(8)?))?,
                    kind: record.u32(12)?,
                })
            })
            .ok_or_else(|| cut("the relocations are"))?;
        }
        Ok(ext)
    }
}

fn names_of(btf: &[u8]) -> Option<Bytes<'_>> {
    let bytes = Bytes(btf);
    let start = u64::from(bytes.u32(4)?);
    let (offset, len) = (u64::from(bytes.u32(16)?), u64::from(bytes.u32(20)?));
    bytes.slice(start.checked_add(offset)?, len).map(Bytes)
}

/// Reads a part of `.BTF.ext`: the size of a record, then for each section its name, a count and
/// the records.
fn read_records<T>(
    part: &[u8],
    names: &Bytes<'_>,
    least: u32,
    read: impl Fn(&Bytes<'_>) -> Option<T>,
) -> Option<Vec<(String, Vec<T>)>> {
    let mut all = Vec::new();
    if part.is_empty() {
        return Some(all);
    }
    let mut cursor = Cursor { bytes: Bytes(part), at: 0 };
    let size = cursor.u32()?;
    if size < least {
        return None;
    }
    while cursor.at < part.len() as u64 {
        let section = names.text(u64::from(cursor.u32()?))?;
        let mut records = Vec::new();
        for _ in 0..cursor.u32()? {
            let record = cursor.bytes.slice(cursor.at, u64::from(size))?;
            records.push(read(&Bytes(record))?);
            cursor.at += u64::from(size);
        }
        all.push((section, records));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BtfWriter;

    fn sample() -> BtfWriter {
        let mut btf = BtfWriter::default();
        let int = btf.int("int", 4, true);
        let long = btf.int("unsigned long", 8, false);
        let bits = btf.array(long, int, 2);
        let mask = btf.structure("cpumask", 16, &[("bits", bits, 0)]);
        let pointer = btf.pointer(mask);
        let alias = btf.typedef("cpumask_t", mask);
        btf.structure("task_struct___old", 24, &[("cpus_ptr", pointer, 0), ("mask", alias, 64)]);
        let proto = btf.prototype(int, &[pointer, int]);
        btf.function("pick", proto, 2);
        btf
    }

    #[test]
    fn types_have_sizes_members_and_prototypes() {
        let btf = Btf::read(&sample().finish()).expect("the BTF is valid");
        let (id, _) =
            btf.iter().find(|(_, ty)| ty.name == "task_struct___old").expect("the type exists");
        assert_eq!(btf.size_of(id), Some(24));
        let members = btf.members(id).expect("a structure");
        assert_eq!((members[1].name.as_str(), members[1].bit_offset), ("mask", 64));
        assert_eq!(btf.size_of(members[1].ty), Some(16), "through the typedef");
        assert_eq!(btf.size_of(members[0].ty), Some(8));
        let pick = btf.function("pick").expect("the function exists");
        assert_eq!(btf.prototype(pick), Some((2, true)));
        assert_eq!(btf.function("task_struct___old"), None);
        assert_eq!(btf.prototype(id), None);
    }

    #[test]
    fn flavours_are_one_name() {
        assert_eq!(essential_name("task_struct___old"), "task_struct");
        assert_eq!(essential_name("rq"), "rq");
        assert_eq!(essential_name("___x"), "___x");
    }

    #[test]
    fn circles_end() {
        let mut btf = BtfWriter::default();
        btf.typedef("a", 2);
        btf.typedef("b", 1);
        btf.raw("", 3 << 24, 0, &[3, 0, 4]);
        let btf = Btf::read(&btf.finish()).expect("the BTF is valid");
        assert_eq!(btf.resolve_id(1), 0);
        assert_eq!(btf.size_of(1), None);
        assert_eq!(btf.size_of(3), None, "an array of itself");
    }

    #[test]
    fn damage_is_named() {
        let message = |bytes: &[u8]| Btf::read(bytes).expect_err("the BTF is damaged").to_string();
        assert!(message(&[]).contains("cut short within its header"));
        let good = sample().finish();
        let mut bad = good.clone();
        bad[0] = 0;
        assert!(message(&bad).contains("begins with 0xeb00; BTF begins with 0xeb9f"));
        let mut bad = good.clone();
        bad[2] = 2;
        assert!(message(&bad).contains("version 2"));
        let mut unknown = BtfWriter::default();
        unknown.raw("x", 20 << 24, 0, &[]);
        assert!(message(&unknown.finish()).contains("type 1 is of kind 20"));
        let mut dangling = BtfWriter::default();
        dangling.pointer(7);
        assert!(message(&dangling.finish()).contains("type 1 refers to type 7; the last is 1"));
        for len in 0..good.len() {
            let _ = Btf::read(&good[..len]);
        }
    }

    #[test]
    fn lines_and_relocations_are_read_by_section() {
        let mut btf = sample();
        btf.core_relocation("struct_ops/enqueue", 8, 7, "0:1", 0);
        btf.line("struct_ops/enqueue", 16, "a.bpf.c", 42);
        let ext = btf.finish_ext();
        let types = btf.finish();
        let read = BtfExt::read(&ext, &types).expect("the section is valid");
        assert_eq!(read.core[0].0, "struct_ops/enqueue");
        let expected = CoreRelocation { offset: 8, ty: 7, access: "0:1".into(), kind: 0 };
        assert_eq!(read.core[0].1, [expected]);
        let expected = Line { offset: 16, file: "a.bpf.c".into(), line: 42 };
        assert_eq!(read.lines[0].1, [expected]);
        for len in 0..ext.len() {
            let _ = BtfExt::read(&ext[..len], &types);
        }
    }
}
