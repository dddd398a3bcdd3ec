//! Resolves the names in a script by the object's types.

use super::eval::{Expr, Place};
use super::expr::{self, Ast, Path, Step};
use super::plan::{Job, Operation, Put, Puts};
use super::script::{Assignment, Entry, Statement, Value};
use crate::btf::{Btf, Kind, Member, Type};
use crate::error::nearest;
use crate::image::{Image, PROGRAM_ARGS_MAX};
use crate::kernel_types::enumerator;
use crate::map_def::MapKind;

/// Maximum size of all writes of a script to one place in memory, bytes.
const BYTES_MAX: u32 = 1 << 20;

pub(super) type Resolved<T> = Result<T, String>;

fn missing<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no {what} {name}; did you mean {near}?"),
        None if known.is_empty() => format!("there is no {what} {name}; there are none"),
        None if known.len() > 12 => {
            format!("there is no {what} {name}; `schedlab scx show` lists them")
        }
        None => format!("there is no {what} {name}; the names are {}", known.join(", ")),
    }
}

fn missing_member(name: &str, members: &[Member]) -> String {
    let known = members.iter().map(|member| member.name.as_str());
    missing("member", name, known.filter(|known| !known.is_empty()))
}

pub(super) fn find_variable(image: &Image, name: &str) -> Resolved<usize> {
    let found = image.variables.iter().position(|variable| variable.name == name);
    found.ok_or_else(|| {
        let own = image.variables.iter().filter(|it| !image.is_internal(it));
        missing("variable", name, own.map(|variable| variable.name.as_str()))
    })
}

pub(super) fn find_map(image: &Image, name: &str) -> Resolved<usize> {
    let found = image.maps.iter().position(|map| map.name == name);
    found.ok_or_else(|| missing("map", name, image.maps.iter().map(|map| map.name.as_str())))
}

/// Returns the type of a variable.
fn type_of(btf: &Btf, name: &str) -> Option<u32> {
    btf.iter().find_map(|(_, ty)| match ty.kind {
        Kind::Var { ty: of, .. } if ty.name == name => Some(of),
        _ => None,
    })
}

/// Meaning of names.
pub(super) struct Scope<'a> {
    pub(super) image: &'a Image,
    /// Whether memory can be read. It cannot before the policy is loaded.
    pub(super) is_running: bool,
}

/// A type on the path into a value: its BTF type, or only its size.
#[derive(Clone, Copy)]
struct Shape {
    ty: Option<u32>,
    size: u32,
    bits: Option<(u32, u32)>,
}

impl Scope<'_> {
    fn btf(&self) -> &Btf {
        &self.image.btf
    }

    fn shape(&self, ty: u32) -> Resolved<Shape> {
        let size = self.btf().size_of(ty).ok_or("its type has no size")?;
        Ok(Shape { ty: Some(ty), size, bits: None })
    }

    /// Returns the type with a name such as `struct NAME` or `u64`.
    fn type_named(&self, name: &str) -> Resolved<Shape> {
        let (kind, bare) = match name.trim().split_once(' ') {
            Some((kind @ ("struct" | "union" | "enum"), bare)) => (Some(kind), bare.trim()),
            _ => (None, name.trim()),
        };
        let is_it = |ty: &Type| match (&ty.kind, kind) {
            (Kind::Struct { is_union, .. }, Some(kind)) => (kind == "union") == *is_union,
            (Kind::Enum { .. }, Some(kind)) => kind == "enum",
            (Kind::Int { .. } | Kind::Typedef(_), None) => true,
            _ => false,
        };
        let found = self.btf().iter().find(|(_, ty)| ty.name == bare && is_it(ty));
        let (id, _) = found.ok_or_else(|| {
            let known = self.btf().iter().map(|(_, ty)| ty.name.as_str());
            match nearest(bare, known.filter(|known| !known.is_empty())) {
                Some(near) => format!("the object has no type {name}; did you mean {near}?"),
                None => format!(
                    "the object has no type {name}; write \"struct NAME\" or \"u64\" (an object \
                     does not keep types that only local variables have)"
                ),
            }
        })?;
        self.shape(id)
    }

    /// Returns the member `name` of a structure, including members of anonymous structures in it:
    /// its offset and type.
    fn member(&self, ty: u32, name: &str, depth: u32) -> Option<(u32, Shape)> {
        let members = self.btf().members(ty).filter(|_| depth < 16)?;
        for member in members {
            let bytes = member.bit_offset / 8;
            if member.name.is_empty() {
                if let Some((within, shape)) = self.member(member.ty, name, depth + 1) {
                    return Some((bytes + within, shape));
                }
                continue;
            }
            if member.name != name {
                continue;
            }
            let mut shape = self.shape(member.ty).ok()?;
            if member.bits > 0 {
                // The bytes that hold all bits of the field.
                let size = shape.size.max(1);
                let start = member.bit_offset / (8 * size) * size;
                shape.bits = Some((member.bit_offset - 8 * start, member.bits));
                return Some((start, shape));
            }
            return Some((bytes, shape));
        }
        None
    }

    /// Follows steps into a value of this type.
    fn follow(&self, mut shape: Shape, steps: &[Step], place: &mut Place) -> Resolved<Shape> {
        let mut name = String::new();
        for step in steps {
            let kind = shape.ty.map(|ty| &self.btf().resolve(ty).kind);
            match (step, kind) {
                (Step::Member(member), Some(Kind::Struct { members, .. })) => {
                    let ty = shape.ty.unwrap_or(0);
                    let found = self.member(ty, member, 0);
                    let found = found.ok_or_else(|| missing_member(member, members))?;
                    place.at += u64::from(found.0);
                    shape = found.1;
                    name = member.clone();
                }
                (Step::Index(index), Some(Kind::Array { element, len })) => {
                    let inner = self.shape(*element)?;
                    // A variable may have been resized: its size determines the number of elements.
                    let len = shape.size.checked_div(inner.size).unwrap_or(*len);
                    let index = self.ast(index)?;
                    match index.known(self.image.cpus) {
                        Some(number) if (0..i128::from(len)).contains(&number) => {
                            place.at += number as u64 * u64::from(inner.size);
                        }
                        Some(number) => {
                            return Err(format!(
                                "element {number} of {len}, 0 to {}",
                                len.max(1) - 1
                            ));
                        }
                        None => place.indices.push((index, inner.size, len)),
                    }
                    shape = inner;
                }
                (Step::Member(member), _) => {
                    let what = if name.is_empty() { "it" } else { &name };
                    return Err(format!("{what} is not a structure and has no member {member}"));
                }
                (Step::Index(_), _) => {
                    let what = if name.is_empty() { "it" } else { &name };
                    return Err(format!("{what} is not an array"));
                }
            }
        }
        (place.size, place.bits) = (shape.size, shape.bits);
        place.is_signed = shape.ty.is_some_and(|ty| self.btf().is_signed(ty));
        Ok(shape)
    }

    /// Returns a variable, or a part of it.
    fn variable(&self, path: &Path) -> Resolved<(Place, Shape)> {
        let at = find_variable(self.image, &path.root)?;
        let variable = &self.image.variables[at];
        let ty = type_of(self.btf(), &path.root);
        let shape = Shape { ty, size: variable.size, bits: None };
        let mut place = Place::at(variable.address());
        let shape = self.follow(shape, &path.steps, &mut place)?;
        Ok((place, shape))
    }

    pub(super) fn expr(&self, text: &str) -> Resolved<Expr> {
        self.ast(&expr::parse(text)?)
    }

    fn ast(&self, ast: &Ast) -> Resolved<Expr> {
        Ok(match ast {
            Ast::Number(number) => Expr::Number(*number),
            Ast::Unary(sign, of) => Expr::Unary(*sign, Box::new(self.ast(of)?)),
            Ast::Binary(op, a, b) => {
                Expr::Binary(*op, Box::new(self.ast(a)?), Box::new(self.ast(b)?))
            }
            Ast::Choice(all) => {
                let [a, b, c] = &**all;
                Expr::Choice(Box::new([self.ast(a)?, self.ast(b)?, self.ast(c)?]))
            }
            Ast::Least(least, of) => {
                Expr::Least(*least, Box::new([self.ast(&of[0])?, self.ast(&of[1])?]))
            }
            Ast::Path(path) => self.named(path)?,
        })
    }

    fn named(&self, path: &Path) -> Resolved<Expr> {
        match (path.root.as_str(), path.steps.as_slice()) {
            ("cpus", []) => return Ok(Expr::Cpus),
            ("each", []) => return Ok(Expr::Each),
            ("true", []) => return Ok(Expr::Number(1)),
            ("false", []) => return Ok(Expr::Number(0)),
            ("now_ns", []) if self.is_running => return Ok(Expr::Now),
            _ => (),
        }
        if path.steps.is_empty()
            && let Some(value) = self.enumerator(&path.root)
        {
            return Ok(Expr::Number(value));
        }
        if !self.is_running {
            return Err(format!(
                "{} cannot be read before the policy is loaded; use numbers, cpus and enumerators",
                path.root
            ));
        }
        let (place, shape) = match path.root.as_str() {
            "map" => return self.entry_named(path),
            "var" => match path.steps.split_first() {
                Some((Step::Member(root), steps)) => {
                    self.variable(&Path { root: root.clone(), steps: steps.to_vec() })?
                }
                _ => return Err("write var.NAME".into()),
            },
            _ => self.variable(path)?,
        };
        self.is_number(&path.root, shape)?;
        Ok(Expr::Load(place))
    }

    fn is_number(&self, name: &str, shape: Shape) -> Resolved<()> {
        let kind = shape.ty.map(|ty| &self.btf().resolve(ty).kind);
        match kind {
            Some(Kind::Struct { .. }) => Err(format!("{name} is a structure: name a member of it")),
            Some(Kind::Array { .. }) => Err(format!("{name} is an array: name an element, [0]")),
            _ if matches!(shape.size, 1 | 2 | 4 | 8) => Ok(()),
            _ => Err(format!("{name} has {} bytes; numbers have 1, 2, 4 or 8", shape.size)),
        }
    }

    /// Resolves `map.NAME[KEY].MEMBER`.
    fn entry_named(&self, path: &Path) -> Resolved<Expr> {
        let [Step::Member(name), Step::Index(key), rest @ ..] = path.steps.as_slice() else {
            return Err("write map.NAME[KEY], or map.NAME[KEY].MEMBER".into());
        };
        let map = find_map(self.image, name)?;
        let def = &self.image.maps[map];
        if !has_keys(def.kind) {
            return Err(format!("{name} is a {}; it has no keys", def.kind.name()));
        }
        if def.key_size > 8 {
            return Err(format!(
                "the keys of {name} have {} bytes; the maximum is 8",
                def.key_size
            ));
        }
        let shape = Shape { ty: def.value_type, size: def.value_size, bits: None };
        let mut place = Place::at(0);
        let shape = self.follow(shape, rest, &mut place)?;
        self.is_number(&format!("map.{name}[...]"), shape)?;
        Ok(Expr::Entry { map, key: Box::new(self.ast(key)?), place })
    }

    /// Returns an enumerator of the object or of the emulated kernel.
    fn enumerator(&self, name: &str) -> Option<i128> {
        let own = self.btf().iter().find_map(|(_, ty)| match &ty.kind {
            Kind::Enum { values, .. } => values.iter().find(|(known, _)| known == name),
            _ => None,
        });
        let own = own.map(|(_, value)| i128::from(*value));
        own.or_else(|| enumerator(name).map(i128::from))
    }

    /// Returns a value that is a number. `5ms` is a number where the name states a unit.
    pub(super) fn number(&self, name: &str, value: &Value) -> Resolved<Expr> {
        match value {
            Value::Number(number) => Ok(Expr::Number(*number)),
            Value::Text(text) => match time(name, text)? {
                Some(number) => Ok(Expr::Number(number)),
                None => self.expr(text),
            },
            Value::List(_) => Err(format!("{name} is a number, not a list")),
            Value::Table(_) => Err(format!("{name} is a number and has no members")),
        }
    }

    /// Translates a value to writes, `at` bytes from the beginning of the place.
    fn put(
        &self,
        name: &str,
        shape: Shape,
        at: u32,
        value: &Value,
        puts: &mut Puts,
    ) -> Resolved<()> {
        let kind = shape.ty.map(|ty| &self.btf().resolve(ty).kind);
        match (kind, value) {
            (Some(Kind::Struct { members, .. }), Value::Table(values)) => {
                for (member, value) in values {
                    let path = expr::parse_path(member)?;
                    let ty = shape.ty.unwrap_or(0);
                    if self.member(ty, &path.root, 0).is_none() {
                        let what = missing_member(&path.root, members);
                        return Err(format!("{name}: {what}"));
                    }
                    let steps = [&[Step::Member(path.root)][..], &path.steps].concat();
                    let mut place = Place::at(0);
                    let inner = self.follow(shape, &steps, &mut place)?;
                    if !place.indices.is_empty() {
                        return Err(format!("{name}.{member}: the index must be a number"));
                    }
                    let offset = at + place.at as u32;
                    self.put(&format!("{name}.{member}"), inner, offset, value, puts)?;
                }
                Ok(())
            }
            (Some(Kind::Struct { .. }), _) => {
                Err(format!("{name} is a structure: write its members, {{ NAME = VALUE }}"))
            }
            (Some(Kind::Array { element, .. }), Value::Text(text)) if self.is_char(*element) => {
                let mut bytes = text.clone().into_bytes();
                if bytes.len() >= shape.size as usize {
                    return Err(format!(
                        "{name} has {} bytes, the last of which is 0: {text:?} does not fit",
                        shape.size
                    ));
                }
                bytes.resize(shape.size as usize, 0);
                puts.puts.push(Put::Bytes { offset: at, bytes });
                Ok(())
            }
            (Some(Kind::Array { element, .. }), Value::List(values)) => {
                let inner = self.shape(*element)?;
                let len = shape.size / inner.size.max(1);
                if values.len() > len as usize {
                    return Err(format!("{name} has {len} elements, not {}", values.len()));
                }
                for (number, value) in values.iter().enumerate() {
                    let offset = at + number as u32 * inner.size;
                    self.put(&format!("{name}[{number}]"), inner, offset, value, puts)?;
                }
                Ok(())
            }
            (Some(Kind::Array { .. }), _) => {
                Err(format!("{name} is an array: write a list, [1, 2]"))
            }
            // Bytes of an unknown type.
            (_, Value::List(values))
                if !matches!(shape.size, 1 | 2 | 4 | 8) || shape.ty.is_none() =>
            {
                if values.len() > shape.size as usize {
                    return Err(format!("{name} has {} bytes, not {}", shape.size, values.len()));
                }
                let byte = Shape { ty: None, size: 1, bits: None };
                for (number, value) in values.iter().enumerate() {
                    self.put(&format!("{name}[{number}]"), byte, at + number as u32, value, puts)?;
                }
                Ok(())
            }
            _ => {
                if !matches!(shape.size, 1 | 2 | 4 | 8) {
                    let size = shape.size;
                    return Err(format!("{name} has {size} bytes: write them as a list, [0, 1]"));
                }
                let expr = self.number(name, value)?;
                let bits = shape.bits.map_or(8 * shape.size, |(_, bits)| bits);
                if let Some(number) = expr.known(self.image.cpus) {
                    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
                    if !(least..=most).contains(&number) {
                        return Err(format!(
                            "{name} has {bits} bits: the range is {least} to {most}"
                        ));
                    }
                }
                let (offset, size, bits) = (at, shape.size, shape.bits);
                puts.puts.push(Put::Number { offset, size, bits, value: expr });
                Ok(())
            }
        }
    }

    fn is_char(&self, ty: u32) -> bool {
        self.btf().size_of(ty) == Some(1)
    }

    fn puts(&self, name: &str, shape: Shape, value: &Value) -> Resolved<Puts> {
        if shape.size > BYTES_MAX {
            return Err(format!("{name} has {} bytes; the maximum is {BYTES_MAX}", shape.size));
        }
        let mut puts = Puts { size: shape.size, puts: vec![] };
        self.put(name, shape, 0, value, &mut puts)?;
        Ok(puts)
    }

    pub(super) fn set(&self, set: &Assignment) -> Resolved<Operation> {
        let path = expr::parse_path(&set.name)?;
        let path = match (path.root.as_str(), path.steps.split_first()) {
            ("var", Some((Step::Member(root), steps))) => {
                Path { root: root.clone(), steps: steps.to_vec() }
            }
            _ => path,
        };
        let (place, shape) =
            self.variable(&path).map_err(|what| format!("{}: {what}", set.name))?;
        let at = find_variable(self.image, &path.root)?;
        let variable = &self.image.variables[at];
        if self.is_running && !self.image.data[variable.data].is_writable {
            return Err(format!(
                "{} is constant once the policy is loaded; set it under [set]",
                set.name
            ));
        }
        if shape.size > BYTES_MAX && self.is_running {
            return Err(format!(
                "{} has {} bytes; the maximum is {BYTES_MAX}",
                set.name, shape.size
            ));
        }
        let mut puts = Puts { size: shape.size, puts: vec![] };
        self.put(&set.name, shape, 0, &set.value, &mut puts)?;
        Ok(Operation::Set { name: set.name.clone(), place, puts })
    }

    fn key(&self, map: usize, key: Option<&Value>) -> Resolved<Puts> {
        let def = &self.image.maps[map];
        if !has_keys(def.kind) {
            return Err(format!("{} is a {}; it has no keys", def.name, def.kind.name()));
        }
        let Some(key) = key else { return Err(format!("{} needs a key", def.name)) };
        self.puts("key", Shape { ty: def.key_type, size: def.key_size, bits: None }, key)
    }

    fn write(&self, entry: &Entry) -> Resolved<Operation> {
        let map = find_map(self.image, &entry.map)?;
        let def = &self.image.maps[map];
        let (name, kind) = (&def.name, def.kind.name());
        let is_queue = matches!(def.kind, MapKind::Queue | MapKind::Stack);
        if !is_queue && (!has_keys(def.kind) || def.kind.is_of_maps()) {
            return Err(format!(
                "{name} is a {kind}, whose entries a script cannot write{}",
                match def.kind {
                    MapKind::ArrayOfMaps => "; [inner] gives it new maps",
                    MapKind::UserRingbuf => "; use send",
                    _ => "",
                }
            ));
        }
        let shape = Shape { ty: def.value_type, size: def.value_size, bits: None };
        let value = entry.value.as_ref().ok_or_else(|| format!("{name} needs a value"))?;
        let value = self.puts("value", shape, value)?;
        if is_queue {
            return match entry.key {
                Some(_) => Err(format!("{name} is a {kind}; it has no keys")),
                None => Ok(Operation::Push { map, value }),
            };
        }
        if let Some(cpu) = entry.cpu {
            if !def.kind.is_percpu() {
                return Err(format!("{name} is a {kind}, which has the same values for all CPUs"));
            }
            if cpu >= self.image.cpus {
                return Err(format!("there is no CPU {cpu}; the machine has {}", self.image.cpus));
            }
        }
        let key = self.key(map, entry.key.as_ref())?;
        Ok(Operation::Write { map, key, value, cpu: entry.cpu })
    }

    /// Translates a value that is given with a type, or as numbers of `width` bytes.
    fn given(&self, name: &str, ty: Option<&str>, value: &Value, width: u32) -> Resolved<Puts> {
        if let Some(ty) = ty {
            return self.puts(name, self.type_named(ty)?, value);
        }
        let Value::List(values) = value else {
            return Err(format!(
                "{name} is a list of numbers of {} bits, or state its type: type = \"struct NAME\"",
                8 * width
            ));
        };
        let size = width.saturating_mul(values.len() as u32);
        let mut puts = Puts { size, puts: vec![] };
        let number = Shape { ty: None, size: width, bits: None };
        for (place, value) in values.iter().enumerate() {
            let at = place as u32 * width;
            self.put(&format!("{name}[{place}]"), number, at, value, &mut puts)?;
        }
        Ok(puts)
    }

    fn each(&self, each: Option<&Value>) -> Resolved<Option<Expr>> {
        each.map(|each| self.number("each", each)).transpose()
    }

    pub(super) fn job(&self, place: &str, statement: &Statement) -> Resolved<Job> {
        let (operation, each) = match statement {
            Statement::Set(set) => (self.set(set)?, None),
            Statement::Write(entry) => (self.write(entry)?, self.each(entry.each.as_ref())?),
            Statement::Delete(entry) => {
                let map = find_map(self.image, &entry.map)?;
                let def = &self.image.maps[map];
                if !def.kind.is_hash() || def.kind.is_of_maps() {
                    let kind = def.kind.name();
                    return Err(format!(
                        "{} is a {kind}; entries can be deleted only from hashes",
                        def.name
                    ));
                }
                let key = self.key(map, entry.key.as_ref())?;
                (Operation::Delete { map, key }, self.each(entry.each.as_ref())?)
            }
            Statement::Send(record) => {
                let map = find_map(self.image, &record.map)?;
                let def = &self.image.maps[map];
                if def.kind != MapKind::UserRingbuf {
                    let kind = def.kind.name();
                    return Err(format!(
                        "{} is a {kind}; only a USER_RINGBUF takes records",
                        def.name
                    ));
                }
                let (ty, most) = (record.ty.as_deref(), def.max_entries);
                let record_ = self.given("value", ty, &record.value, 1)?;
                if record_.size == 0 || record_.size.saturating_add(8) > most {
                    let size = record_.size;
                    return Err(format!("a record of {size} bytes; 1 to {} fit", most.max(8) - 8));
                }
                (Operation::Send { map, record: record_ }, self.each(record.each.as_ref())?)
            }
            Statement::Call(call) => {
                let entry = self.image.program(&call.program).map_err(|error| error.what)?;
                let args = self.given("args", call.ty.as_deref(), &call.args, 4)?;
                let most = PROGRAM_ARGS_MAX as u32 * 4;
                if args.size > most {
                    return Err(format!("args has {} bytes; the maximum is {most}", args.size));
                }
                let name = call.program.clone();
                (Operation::Call { name, entry, args }, self.each(call.each.as_ref())?)
            }
            Statement::Read(text) => {
                let path = expr::parse(text)?;
                let operation = match &path {
                    Ast::Path(Path { root, steps }) if root == "map" && steps.len() == 1 => {
                        let [Step::Member(name)] = steps.as_slice() else {
                            return Err("write map.NAME".into());
                        };
                        let map = find_map(self.image, name)?;
                        let kind = self.image.maps[map].kind;
                        if !has_keys(kind) || kind.is_of_maps() {
                            let kind = kind.name();
                            return Err(format!(
                                "{name} is a {kind}; it cannot be read as a whole"
                            ));
                        }
                        Operation::ReadMap { map }
                    }
                    ast => Operation::Read { text: text.clone(), value: self.ast(ast)? },
                };
                (operation, None)
            }
        };
        Ok(Job { place: place.into(), each, operation })
    }
}

fn has_keys(kind: MapKind) -> bool {
    kind.is_hash() || matches!(kind, MapKind::Array | MapKind::PercpuArray | MapKind::ArrayOfMaps)
}

/// Converts `5ms` to a number in the unit that the name ends with. `None`: it is not a time.
fn time(name: &str, text: &str) -> Resolved<Option<i128>> {
    let text = text.trim();
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = |unit: &str| match unit {
        "ns" => Some(1),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        _ => None,
    };
    let (Ok(number), Some(in_ns)) = (digits.parse::<u32>(), unit(&text[digits.len()..])) else {
        return Ok(None);
    };
    let of_name = name.rsplit('_').next().and_then(unit).filter(|_| name.contains('_'));
    let Some(of_name) = of_name else {
        return Err(format!(
            "{text} is a time, but {name} does not state a unit (_ns, _us, _ms): write a number"
        ));
    };
    let ns = i128::from(number) * in_ns;
    match ns % of_name {
        0 => Ok(Some(ns / of_name)),
        _ => Err(format!("{text} is not a whole number of {name}'s unit")),
    }
}
