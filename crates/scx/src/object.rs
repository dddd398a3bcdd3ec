//! An object file, read but not yet linked for a machine.

use crate::btf::{Btf, BtfExt, Kind, essential_name};
use crate::elf::Elf;
use crate::error::ObjectError;

/// Licences with which the kernel lets a program call its functions.
const LICENCES: [&str; 6] =
    ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// An object file, parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its name, as the user gave it.
    pub file: String,
    pub(crate) elf: Elf,
    /// Its types.
    pub btf: Btf,
    pub(crate) ext: BtfExt,
}

impl Object {
    /// Reads an object file. `file` is its name for messages.
    ///
    /// # Errors
    /// If it is not a BPF object with BTF, is damaged, or holds no sched_ext policy.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Object, ObjectError> {
        Object::read_unnamed(bytes)
            .map(|object| Object { file: file.into(), ..object })
            .map_err(|error| error.in_file(file))
    }

    fn read_unnamed(bytes: &[u8]) -> Result<Object, ObjectError> {
        let elf = Elf::read(bytes)?;
        let section = |name: &str| -> Result<&[u8], ObjectError> {
            let found = elf.section(name).map(|number| elf.sections[number].bytes.as_slice());
            let what = "it is missing; compile with -g, and do not strip the object";
            found.ok_or_else(|| ObjectError::new(format!("section {name}"), what))
        };
        let (types, more) = (section(".BTF")?, section(".BTF.ext")?);
        let (btf, ext) = (Btf::read(types)?, BtfExt::read(more, types)?);
        let object = Object { file: String::new(), elf, btf, ext };
        object.check_licence()?;
        object.struct_ops()?;
        Ok(object)
    }

    fn check_licence(&self) -> Result<(), ObjectError> {
        let place = "section license";
        let section = self.elf.section("license").map(|number| &self.elf.sections[number]);
        let section = section.ok_or_else(|| {
            ObjectError::new(
                place,
                "it is missing; write char LICENSE[] SEC(\"license\") = \"GPL\"",
            )
        })?;
        let text = section.bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        if LICENCES.contains(&&*text) {
            return Ok(());
        }
        let what = format!(
            "{text:?}: the kernel refuses scheduler functions to a program without a \
             GPL-compatible licence; it accepts {}",
            LICENCES.join(", ")
        );
        Err(ObjectError::new(place, what))
    }

    /// Returns the section of the table of callbacks, the table's offset in it, and its type.
    pub(crate) fn struct_ops(&self) -> Result<(usize, u64, u32), ObjectError> {
        let mut found = vec![];
        for name in [".struct_ops.link", ".struct_ops"] {
            let Some(section) = self.elf.section(name) else { continue };
            for var in self.btf.section(name).unwrap_or_default() {
                let Kind::Var { ty, .. } = self.btf.get(var.ty).kind else { continue };
                let ty = self.btf.resolve_id(ty);
                let type_name = &self.btf.get(ty).name;
                let variable = &self.btf.get(var.ty).name;
                if essential_name(type_name) != "sched_ext_ops" {
                    let what = format!(
                        "{variable} is a struct {type_name}; only struct sched_ext_ops can be \
                         loaded here"
                    );
                    return Err(ObjectError::new(format!("section {name}"), what));
                }
                let symbol = self
                    .elf
                    .symbols
                    .iter()
                    .find(|symbol| symbol.section == Some(section) && symbol.name == *variable);
                let value = symbol.map_or(0, |symbol| symbol.value);
                found.push((section, value, ty, variable.clone()));
            }
        }
        match found.as_slice() {
            [] => Err(ObjectError::new(
                "",
                "it contains no sched_ext policy: no struct sched_ext_ops in .struct_ops.link",
            )),
            [(section, value, ty, _)] => Ok((*section, *value, *ty)),
            [(section, ..), ..] => {
                let names: Vec<&str> = found.iter().map(|(.., name)| name.as_str()).collect();
                let what = format!(
                    "it contains {} policies ({}); compile each to its own file",
                    names.len(),
                    names.join(", ")
                );
                Err(ObjectError::new(self.elf.place(*section), what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{EXEC, PROGBITS, Section};
    use crate::testing::{BtfWriter, ObjectWriter};

    #[test]
    fn an_object_without_a_policy_is_refused() {
        let section = |object: &mut ObjectWriter, name: &str, bytes: Vec<u8>| {
            object.section(name, PROGBITS, 0, bytes);
        };
        let mut writer = ObjectWriter::new();
        let refused = |writer: &ObjectWriter| {
            Object::read("no.bpf.o", &writer.finish())
                .expect_err("the object is refused")
                .to_string()
        };
        assert!(refused(&writer).contains("section .BTF: it is missing; compile with -g"));
        let mut btf = BtfWriter::default();
        let ext = btf.finish_ext();
        section(&mut writer, ".BTF", btf.finish());
        section(&mut writer, ".BTF.ext", ext);
        assert!(refused(&writer).contains("section license: it is missing"));
        section(&mut writer, "license", b"GPL\0".to_vec());
        assert!(refused(&writer).contains("no.bpf.o: it contains no sched_ext policy"));
        let code = Section { kind: PROGBITS, flags: EXEC, ..Section::default() };
        assert!(code.is_code());
    }
}
