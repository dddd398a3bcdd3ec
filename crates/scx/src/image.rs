//! A linked object: code, data, maps and variables, from which schedulers are built.

use crate::btf::Btf;
use crate::error::{ObjectError, nearest};
use crate::insn::Insn;
use crate::kernel_types::KernelTypes;
use crate::map_def::MapDef;
use crate::memory::{FIRST_FREE, address};
use crate::ops::{Callback, OpsNumbers};
use crate::settings::{Setting, SettingTarget};
use crate::user_half::plan::UserHalf;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of 32-bit arguments of a program of section `syscall`.
pub(crate) const PROGRAM_ARGS_MAX: usize = 64;

/// The machine that an object is linked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Number of CPUs, 1 to 4096.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
}

/// A function of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Name of its section.
    pub section: String,
    /// Its instructions.
    pub code: Range<usize>,
}

/// A section of data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Its contents, with settings applied.
    pub bytes: Vec<u8>,
    /// Whether the policy may write it.
    pub is_writable: bool,
    /// Its number in the file. `None` for sections that the linker made.
    pub(crate) section: Option<usize>,
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its section, an index into [`Image::data`].
    pub data: usize,
    /// Its offset there, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub size: u32,
    /// The size of an element, if it is an array of numbers.
    pub element: Option<u32>,
    /// Its type in C. Empty if it is unknown.
    pub type_name: String,
    /// Whether its numbers are signed.
    pub is_signed: bool,
}

impl Variable {
    /// Returns its address while the policy runs.
    pub fn address(&self) -> u64 {
        address(FIRST_FREE + self.data as u32, self.offset)
    }

    /// Converts the bits of a number of `size` bytes.
    pub fn number(&self, bits: u64, size: u32) -> i64 {
        match (self.is_signed, size) {
            (true, 1) => i64::from(bits as i8),
            (true, 2) => i64::from(bits as i16),
            (true, 4) => i64::from(bits as i32),
            _ => bits as i64,
        }
    }
}

/// An object linked for a machine. Schedulers are built from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// The file's name.
    pub file: String,
    /// `ops.name`.
    pub name: String,
    /// All code.
    pub code: Vec<Insn>,
    /// All functions, ordered by their first instruction.
    pub functions: Vec<Function>,
    /// Initial contents of the arena: its variables.
    pub arena: Vec<u8>,
    /// Sections of data. Section n is region [`FIRST_FREE`] + n.
    pub data: Vec<Data>,
    /// Maps. The address of map n is [`map_handle`](crate::memory::map_handle)`(n)`.
    pub maps: Vec<MapDef>,
    /// Variables, ordered by name.
    pub variables: Vec<Variable>,
    /// The first instruction of each callback that the policy has.
    pub callbacks: [Option<u32>; Callback::COUNT],
    /// The numbers of its table of callbacks.
    pub ops: OpsNumbers,
    /// The kernel functions that it calls, as indices into [`KFUNCS`](crate::kfuncs::KFUNCS).
    pub kfuncs: Vec<usize>,
    /// Reasons why poisoned instructions must not be reached.
    pub poisons: Vec<String>,
    /// Names of functions and variables that the object requests and that the emulated kernel
    /// lacks.
    pub absent: Vec<String>,
    /// Functions of kinds that are never called here (`fentry`, `tp_btf` ...).
    pub never_called: Vec<String>,
    /// Number of CPUs of the machine that it was linked for.
    pub cpus: u32,
    /// The kernel's types.
    pub types: KernelTypes,
    /// The object's types.
    pub btf: Btf,
    /// Its user half, if it has a script.
    pub user: Option<Arc<UserHalf>>,
    /// Source lines, by the first instruction compiled from them.
    pub(crate) lines: Vec<(u32, String)>,
}

fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no {what} {name}; did you mean {near}?"),
        None => format!("there is no {what} {name}; `schedlab scx show` lists them"),
    }
}

impl Image {
    /// Whether a variable is not meant for users: the kernel's numbers, which the linker fills in,
    /// its configuration, the table of callbacks, and variables that the compiler made.
    pub fn is_internal(&self, variable: &Variable) -> bool {
        let section = self.data[variable.data].name.as_str();
        variable.name.starts_with("__SCX_")
            || variable.name.contains('.')
            || section == ".kconfig"
            || section.starts_with(".struct_ops")
            || section == ".rodata.str1.1"
    }

    /// Returns the first instruction of the program `name` of section `syscall`.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn program(&self, name: &str) -> Result<usize, ObjectError> {
        let programs = || self.functions.iter().filter(|it| it.section == "syscall");
        match programs().find(|program| program.name == name) {
            Some(program) => Ok(program.code.start),
            None => {
                let known: Vec<&str> = programs().map(|program| program.name.as_str()).collect();
                let known = match known.as_slice() {
                    [] => "the object has none".into(),
                    known => format!("the programs are {}", known.join(", ")),
                };
                let what = format!("there is no program {name} of section syscall; {known}");
                Err(ObjectError::new("", what))
            }
        }
    }

    /// Applies settings, as user space does before it loads a policy.
    ///
    /// # Errors
    /// The first setting that cannot be applied.
    pub fn set(&mut self, settings: &[Setting]) -> Result<(), ObjectError> {
        for setting in settings {
            match &setting.target {
                SettingTarget::Ops(field) => {
                    let value = u64::try_from(setting.value);
                    let value = value.map_err(|_| setting.fault("it cannot be negative"))?;
                    let number = self.ops.get_mut(field).ok_or_else(|| {
                        setting.fault(format!(
                            "the fields of ops are {}",
                            OpsNumbers::NAMES.join(", ")
                        ))
                    })?;
                    *number = value;
                }
                SettingTarget::MapEntries(name) => {
                    let value = u32::try_from(setting.value).ok().filter(|&value| value > 0);
                    let value = value.ok_or_else(|| setting.fault("a map has at least 1 entry"))?;
                    let map = self.maps.iter_mut().find(|map| map.name == *name);
                    match map {
                        Some(map) => map.max_entries = value,
                        None => {
                            let known = self.maps.iter().map(|map| map.name.as_str());
                            return Err(setting.fault(unknown("map", name, known)));
                        }
                    }
                }
                SettingTarget::Variable { name, index } => {
                    self.set_variable(setting, name, *index)?
                }
            }
        }
        let limits = [
            ("timeout_ms", self.ops.timeout_ms, 30_000),
            ("dispatch_max_batch", self.ops.dispatch_max_batch, i32::MAX as u64),
        ];
        for (name, value, most) in limits {
            if value > most {
                let what = format!("ops.{name} is {value}; the kernel accepts at most {most}");
                return Err(ObjectError::new("", what));
            }
        }
        let cpus = self.cpus;
        if let Some(flaw) = self.maps.iter().find_map(|map| map.flaw(cpus)) {
            return Err(flaw);
        }
        Ok(())
    }

    fn set_variable(
        &mut self,
        setting: &Setting,
        name: &str,
        index: Option<u32>,
    ) -> Result<(), ObjectError> {
        let Some(variable) = self.variables.iter().find(|variable| variable.name == name) else {
            let known = self.variables.iter().map(|variable| variable.name.as_str());
            return Err(setting.fault(unknown("variable", name, known)));
        };
        let variable = variable.clone();
        let (offset, size) = match (index, variable.element) {
            (None, _) => (variable.offset, variable.size),
            (Some(index), Some(element)) => {
                let count = variable.size / element.max(1);
                if index >= count {
                    return Err(setting.fault(format!(
                        "{name} has {count} elements, 0 to {}",
                        count.saturating_sub(1)
                    )));
                }
                (variable.offset + index * element, element)
            }
            (Some(_), None) => return Err(setting.fault(format!("{name} is not an array"))),
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            let what = match variable.element {
                Some(_) => format!("{name} is an array: name an element, {name}[0]"),
                None => format!(
                    "{name} has {size} bytes; only numbers of 1, 2, 4 or 8 bytes can be set"
                ),
            };
            return Err(setting.fault(what));
        }
        let bits = size * 8;
        let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
        if !(least..=most).contains(&setting.value) {
            return Err(
                setting.fault(format!("{name} has {size} bytes: the range is {least} to {most}"))
            );
        }
        self.write(&variable, offset, size, setting.value as u64);
        Ok(())
    }

    pub(crate) fn write(&mut self, variable: &Variable, offset: u32, size: u32, value: u64) {
        let bytes = value.to_le_bytes();
        let (at, len) = (offset as usize, (size as usize).min(8));
        if let Some(place) = self.data[variable.data].bytes.get_mut(at..at + len) {
            place.copy_from_slice(&bytes[..len]);
        }
    }

    /// Returns the function that contains an instruction.
    pub fn function_at(&self, at: usize) -> Option<&Function> {
        self.functions.iter().find(|function| function.code.contains(&at))
    }

    /// Describes the place of an instruction: function, index in it, source line.
    pub fn place(&self, at: usize) -> String {
        let mut place = match self.function_at(at) {
            Some(function) => format!("{}, insn {}", function.name, at - function.code.start),
            None => format!("insn {at}"),
        };
        let behind = self.lines.partition_point(|(first, _)| *first as usize <= at);
        if let Some((_, line)) = behind.checked_sub(1).map(|index| &self.lines[index]) {
            place += &format!(" ({line})");
        }
        place
    }

    /// Returns the first instruction of a callback. `None` if the policy lacks it.
    pub fn callback(&self, callback: Callback) -> Option<usize> {
        self.callbacks[usize::from(callback.0)].map(|pc| pc as usize)
    }
}
