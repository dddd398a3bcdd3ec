//! CO-RE: a policy's relocations against the kernel's types, resolved from [`KernelTypes`].
//!
//! A relocation refers to a type of the object and the path to one of its members. The type is
//! looked up among the kernel's types by its name up to `___`, and the members by their names.
//! Anonymous structures and unions between them disappear. A member that the emulated kernel lacks
//! is not an error: a check *whether* it exists yields 0, and any other instruction is
//! **poisoned**, that is, it ends the policy when it is reached.

use crate::btf::{Btf, CoreRelocation, Kind, essential_name};
use crate::error::ObjectError;
use crate::kernel_types::{KernelTypes, MemberType, enumerator};

/// Result of a relocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A number.
    Number(u64),
    /// An offset into a structure. An instruction that loads or stores must use this width if its
    /// own is the width of the object's member.
    Offset {
        /// Bytes from the start of the structure.
        offset: u64,
        /// The size of the object's member, bytes.
        from_size: u32,
        /// Size of the emulated kernel's member, bytes.
        to_size: u32,
    },
    /// The kernel lacks this item; its name.
    Missing(String),
}

/// A step on the path to a member.
enum Step {
    Member(String),
    Index(u32),
}

struct MemberPath {
    /// The type's name up to `___`.
    root: String,
    /// Number of structures of the type to skip first.
    first: u32,
    steps: Vec<Step>,
    /// Size of the object's member.
    size: u32,
}

impl MemberPath {
    /// Returns the path as users write it.
    fn name(&self) -> String {
        let mut name = self.root.clone();
        for step in &self.steps {
            match step {
                Step::Member(member) => name += &format!(".{member}"),
                Step::Index(index) => name += &format!("[{index}]"),
            }
        }
        name
    }
}

/// Resolves a relocation.
///
/// # Errors
/// If the relocation makes no sense: it refers to members of a type that has none.
pub fn resolve(
    btf: &Btf,
    types: &KernelTypes,
    relocation: &CoreRelocation,
) -> Result<Resolution, ObjectError> {
    let wrong = |what: String| ObjectError::new("section .BTF.ext", what);
    match relocation.kind {
        0..=5 => {
            let path = member_path(btf, relocation).ok_or_else(|| {
                let name = &btf.get(relocation.ty).name;
                let access = &relocation.access;
                wrong(format!(
                    "a relocation to member {access} of type {name}, which does not exist"
                ))
            })?;
            Ok(field(types, relocation.kind, &path))
        }
        6 => Ok(Resolution::Number(u64::from(relocation.ty))),
        // `BTF_TYPE_ID_TARGET`: useful only to code that knows the kernel's BTF.
        7 => Ok(Resolution::Missing(format!(
            "the kernel's id of type {}",
            btf.get(relocation.ty).name
        ))),
        8 | 12 => Ok(Resolution::Number(u64::from(is_there(btf, types, relocation.ty)))),
        9 => {
            let ty = btf.resolve(relocation.ty);
            Ok(match (&ty.kind, types.structure(essential_name(&ty.name))) {
                (Kind::Struct { .. }, Some(layout)) => Resolution::Number(u64::from(layout.size)),
                (Kind::Struct { .. } | Kind::Forward, None) => {
                    Resolution::Missing(format!("the size of {}", ty.name))
                }
                _ => match btf.size_of(relocation.ty) {
                    Some(size) => Resolution::Number(u64::from(size)),
                    None => Resolution::Missing(format!("the size of {}", ty.name)),
                },
            })
        }
        10 | 11 => {
            let name = enumerator_name(btf, relocation).ok_or_else(|| {
                let name = &btf.get(relocation.ty).name;
                let access = &relocation.access;
                wrong(format!(
                    "a relocation to enumerator {access} of type {name}, which does not exist"
                ))
            })?;
            let name = essential_name(name);
            Ok(match (relocation.kind, enumerator(name)) {
                (10, value) => Resolution::Number(u64::from(value.is_some())),
                (_, Some(value)) => Resolution::Number(value),
                (_, None) => Resolution::Missing(name.into()),
            })
        }
        kind => Err(wrong(format!("a relocation of kind {kind}; kinds 0 to 12 are known"))),
    }
}

fn numbers(access: &str) -> Option<Vec<u32>> {
    access.split(':').map(|number| number.parse().ok()).collect()
}

fn member_path(btf: &Btf, relocation: &CoreRelocation) -> Option<MemberPath> {
    let numbers = numbers(&relocation.access)?;
    let (&first, rest) = numbers.split_first()?;
    let mut ty = btf.resolve_id(relocation.ty);
    let root = essential_name(&btf.get(ty).name).to_string();
    let (mut steps, mut size) = (vec![], None);
    for &number in rest {
        match &btf.get(ty).kind {
            Kind::Struct { members, .. } => {
                let member = members.get(number as usize)?;
                if !member.name.is_empty() {
                    steps.push(Step::Member(essential_name(&member.name).into()));
                }
                ty = btf.resolve_id(member.ty);
            }
            Kind::Array { element, .. } => {
                steps.push(Step::Index(number));
                ty = btf.resolve_id(*element);
            }
            _ => return None,
        }
        size = btf.size_of(ty);
    }
    let size = size.or_else(|| btf.size_of(ty)).unwrap_or(0);
    Some(MemberPath { root, first, steps, size })
}

/// Finds the emulated kernel's member: its offset and type.
fn find(types: &KernelTypes, path: &MemberPath) -> Option<(u64, MemberType)> {
    let (&name, layout) = types.structure_with_name(&path.root)?;
    let mut offset = u64::from(path.first) * u64::from(layout.size);
    let mut ty = MemberType::Struct(name);
    for step in &path.steps {
        match (step, ty) {
            (Step::Member(member), MemberType::Struct(within)) => {
                let field = types.field(within, member)?;
                offset += u64::from(field.offset);
                ty = field.ty;
            }
            (Step::Index(index), MemberType::Mask) if *index < types.mask_words() => {
                offset += u64::from(*index) * 8;
                ty = MemberType::U(8);
            }
            // An array of one.
            (Step::Index(0), MemberType::Struct(_)) => (),
            (Step::Index(index), MemberType::Chars(len)) if *index < len => {
                offset += u64::from(*index);
                ty = MemberType::U(1);
            }
            _ => return None,
        }
    }
    Some((offset, ty))
}

fn field(types: &KernelTypes, kind: u32, path: &MemberPath) -> Resolution {
    let found = find(types, path);
    if kind == 2 {
        return Resolution::Number(u64::from(found.is_some()));
    }
    let Some((offset, ty)) = found else { return Resolution::Missing(path.name()) };
    let size = types.size(ty);
    match kind {
        0 => Resolution::Offset { offset, from_size: path.size, to_size: size },
        1 => Resolution::Number(u64::from(size)),
        3 => Resolution::Number(u64::from(matches!(ty, MemberType::I(_)))),
        // A bit field is a separate integer here. The value is moved to the left end of a register
        // and back.
        _ => Resolution::Number(u64::from(64 - 8 * size.min(8))),
    }
}

/// Whether the kernel has such a type.
fn is_there(btf: &Btf, types: &KernelTypes, id: u32) -> bool {
    let ty = btf.resolve(id);
    match &ty.kind {
        Kind::Struct { .. } | Kind::Forward => types.structure(essential_name(&ty.name)).is_some(),
        Kind::Enum { values, .. } => {
            values.iter().any(|(name, _)| enumerator(essential_name(name)).is_some())
        }
        Kind::Int { .. } | Kind::Ptr(_) | Kind::Array { .. } => true,
        _ => false,
    }
}

fn enumerator_name<'a>(btf: &'a Btf, relocation: &CoreRelocation) -> Option<&'a str> {
    let Kind::Enum { values, .. } = &btf.resolve(relocation.ty).kind else { return None };
    let index = *numbers(&relocation.access)?.first()?;
    values.get(index as usize).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BtfWriter;

    /// Returns a `task_struct___old` with an int `pid`, an anonymous union that holds `cpus_mask`,
    /// `comm` and a `nonsense`; and an enumeration.
    fn sample() -> (Btf, u32, u32) {
        let mut btf = BtfWriter::default();
        let int = btf.int("int", 4, true);
        let long = btf.int("unsigned long", 8, false);
        let char = btf.int("char", 1, true);
        let bits = btf.array(long, int, 128);
        let mask = btf.structure("cpumask", 1024, &[("bits", bits, 0)]);
        let inner = btf.structure("", 1024, &[("cpus_mask", mask, 0)]);
        let comm = btf.array(char, int, 16);
        let members =
            [("pid", int, 0), ("", inner, 64), ("comm", comm, 9000), ("nonsense", int, 9500)];
        let task = btf.structure("task_struct___old", 1300, &members);
        let numbers = [("SCX_NONSENSE", 5), ("SCX_DSQ_LOCAL___x", 9)];
        let numbers = btf.enumeration("scx_dsq_id_flags", &numbers);
        (Btf::read(&btf.finish()).expect("the BTF is valid"), task, numbers)
    }

    fn ask(ty: u32, access: &str, kind: u32) -> CoreRelocation {
        CoreRelocation { offset: 0, ty, access: access.into(), kind }
    }

    #[test]
    fn members_are_found_by_their_names() {
        let (btf, task, _) = sample();
        let types = KernelTypes::new(128);
        let answer = |access: &str, kind| resolve(&btf, &types, &ask(task, access, kind));
        let offset = |path: &str| u64::from(types.offset("task_struct", path));
        let pid = Resolution::Offset { offset: offset("pid"), from_size: 4, to_size: 4 };
        assert_eq!(answer("0:0", 0), Ok(pid));
        let whole =
            Resolution::Offset { offset: offset("cpus_mask"), from_size: 1024, to_size: 16 };
        assert_eq!(answer("0:1:0", 0), Ok(whole), "through the anonymous structure");
        let second =
            Resolution::Offset { offset: offset("cpus_mask") + 8, from_size: 8, to_size: 8 };
        assert_eq!(answer("0:1:0:0:1", 0), Ok(second));
        let third = Resolution::Offset { offset: offset("comm") + 3, from_size: 1, to_size: 1 };
        assert_eq!(answer("0:2:3", 0), Ok(third));
        let next = u64::from(types.size(MemberType::Struct("task_struct"))) + offset("pid");
        assert_eq!(
            answer("1:0", 0),
            Ok(Resolution::Offset { offset: next, from_size: 4, to_size: 4 })
        );
        assert_eq!(answer("0:0", 1), Ok(Resolution::Number(4)));
        assert_eq!(answer("0:0", 3), Ok(Resolution::Number(1)), "pid is signed");
        assert_eq!(answer("0:0", 4), Ok(Resolution::Number(32)));
        assert_eq!(
            answer("0", 9),
            Ok(Resolution::Number(types.size(MemberType::Struct("task_struct")).into()))
        );
    }

    #[test]
    fn what_is_missing_is_poison_unless_it_is_asked_for() {
        let (btf, task, numbers) = sample();
        let types = KernelTypes::new(64);
        let answer = |ty, access: &str, kind| resolve(&btf, &types, &ask(ty, access, kind));
        assert_eq!(answer(task, "0:3", 0), Ok(Resolution::Missing("task_struct.nonsense".into())));
        assert_eq!(answer(task, "0:3", 2), Ok(Resolution::Number(0)));
        assert_eq!(answer(task, "0:0", 2), Ok(Resolution::Number(1)));
        let beyond = "task_struct.cpus_mask.bits[1]".to_string();
        assert_eq!(answer(task, "0:1:0:0:1", 0), Ok(Resolution::Missing(beyond)));
        assert_eq!(answer(task, "0", 8), Ok(Resolution::Number(1)));
        assert_eq!(answer(numbers, "0", 10), Ok(Resolution::Number(0)));
        assert_eq!(answer(numbers, "1", 10), Ok(Resolution::Number(1)));
        assert_eq!(answer(numbers, "1", 11), Ok(Resolution::Number((1 << 63) + 2)));
        assert_eq!(answer(numbers, "0", 11), Ok(Resolution::Missing("SCX_NONSENSE".into())));
        assert_eq!(answer(task, "0", 6), Ok(Resolution::Number(task.into())));
    }

    #[test]
    fn senseless_questions_are_refused() {
        let (btf, task, numbers) = sample();
        let types = KernelTypes::new(64);
        let message = |ty, access: &str, kind| {
            resolve(&btf, &types, &ask(ty, access, kind))
                .expect_err("the relocation is refused")
                .to_string()
        };
        assert!(message(task, "0:9", 0).contains("member 0:9 of type task_struct___old"));
        assert!(message(task, "0:0:0", 0).contains("which does not exist"));
        assert!(message(task, "x", 0).contains("which does not exist"));
        assert!(message(numbers, "7", 11).contains("enumerator 7 of type scx_dsq_id_flags"));
        assert!(message(task, "0", 13).contains("kind 13"));
    }
}
