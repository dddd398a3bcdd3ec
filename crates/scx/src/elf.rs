//! ELF as BPF objects use it: sections, symbols, relocations.
//!
//! Only the output of a compiler for the BPF target is read: 64 bits, little-endian, machine 247.
//! All offsets and sizes in the file are checked against the file's size.

use crate::error::ObjectError;

/// `EM_BPF`.
const MACHINE_BPF: u16 = 247;

/// `SHT_PROGBITS`: a section with contents.
pub const PROGBITS: u32 = 1;
/// `SHT_SYMTAB`.
const SYMTAB: u32 = 2;
/// `SHT_NOBITS`: a section of zeroes that the file does not hold.
pub const NOBITS: u32 = 8;
/// `SHT_REL`.
const REL: u32 = 9;

/// `SHF_ALLOC`: the section is part of the program.
pub const ALLOC: u64 = 2;
/// `SHF_EXECINSTR`: the section is code.
pub const EXEC: u64 = 4;

/// Relocation of a 64-bit load.
pub const R_BPF_64_64: u32 = 1;
/// Relocation of 8 bytes of data.
pub const R_BPF_64_ABS64: u32 = 2;
/// Relocation of 4 bytes of data.
pub const R_BPF_64_ABS32: u32 = 3;
/// Relocation of a call.
pub const R_BPF_64_32: u32 = 10;

/// Maximum size of a section: 64 MiB. (The kernel accepts a million instructions, which are 8 MiB.)
const SECTION_MAX: u64 = 64 << 20;

/// A section.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its bytes in the file: all of it, or none for [`NOBITS`].
    pub bytes: Vec<u8>,
}

impl Section {
    /// Whether it holds instructions.
    pub fn is_code(&self) -> bool {
        self.kind == PROGBITS && self.flags & EXEC != 0
    }
}

/// Kind of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// `STT_SECTION`: a section as a whole.
    Section,
    /// `STT_FUNC`.
    Function,
    /// `STT_OBJECT`: a variable.
    Object,
    /// Any other kind.
    Other,
}

/// A symbol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its name. Empty for sections.
    pub name: String,
    /// Its offset in its section, bytes.
    pub value: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its kind.
    pub kind: SymbolKind,
    /// The number of its section. `None` if it is undefined, absolute or common.
    pub section: Option<usize>,
    /// Whether it may stay undefined (`STB_WEAK`).
    pub is_weak: bool,
}

/// A place that must be filled in with the address of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// The place, bytes from the start of the section.
    pub offset: u64,
    /// Kind: `R_BPF_64_64` 1, `R_BPF_64_ABS64` 2, `R_BPF_64_ABS32` 3, `R_BPF_64_NODYLD32` 4,
    /// `R_BPF_64_32` 10.
    pub kind: u32,
    /// The number of the symbol.
    pub symbol: usize,
}

/// An object file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elf {
    /// All sections by number.
    pub sections: Vec<Section>,
    /// All symbols by number.
    pub symbols: Vec<Symbol>,
    /// Relocations of sections, by the number of the section whose contents they change.
    pub relocations: Vec<(usize, Vec<Relocation>)>,
}

/// Reads little-endian numbers, with bounds checks.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns `len` bytes from `at` on.
    pub fn slice(&self, at: u64, len: u64) -> Option<&'a [u8]> {
        let end = usize::try_from(at.checked_add(len)?).ok()?;
        self.0.get(at as usize..end)
    }

    pub fn u8(&self, at: u64) -> Option<u8> {
        self.0.get(usize::try_from(at).ok()?).copied()
    }

    pub fn u16(&self, at: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.slice(at, 2)?.try_into().ok()?))
    }

    pub fn u32(&self, at: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.slice(at, 4)?.try_into().ok()?))
    }

    pub fn u64(&self, at: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.slice(at, 8)?.try_into().ok()?))
    }

    /// Returns the text from `at` to the next zero byte.
    pub fn text(&self, at: u64) -> Option<String> {
        let rest = self.0.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

struct Header {
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    name: u32,
}

fn fault(place: impl Into<String>, what: impl Into<String>) -> ObjectError {
    ObjectError::new(place, what)
}

impl Elf {
    /// Reads an object.
    ///
    /// # Errors
    /// If it is not an ELF object for BPF, or is damaged.
    pub fn read(bytes: &[u8]) -> Result<Elf, ObjectError> {
        let file = Bytes(bytes);
        check_ident(&file)?;
        let cut = || fault("ELF header", "the file ends within it: it is cut short");
        let table = file.u64(40).ok_or_else(cut)?;
        let (entry, count) = (file.u16(58).ok_or_else(cut)?, file.u16(60).ok_or_else(cut)?);
        let names = file.u16(62).ok_or_else(cut)?;
        if entry != 64 {
            return Err(fault(
                "ELF header",
                format!("section headers of {entry} bytes; a 64-bit object has headers of 64"),
            ));
        }
        let mut headers = Vec::with_capacity(usize::from(count));
        for number in 0..u64::from(count) {
            let header = table
                .checked_add(number * 64)
                .and_then(|at| read_header(&file, at))
                .ok_or_else(|| {
                    fault(
                        format!("section header {number}"),
                        format!("it lies beyond the file's {} bytes: cut short", bytes.len()),
                    )
                })?;
            headers.push(header);
        }
        let text_of = |section: usize| -> Option<Bytes<'_>> {
            let header = headers.get(section)?;
            file.slice(header.offset, header.size).map(Bytes)
        };
        let all_names = text_of(usize::from(names)).ok_or_else(|| {
            fault("ELF header", format!("section {names}, which holds the names, is missing"))
        })?;
        // Sections must not overlap, so that together they are no larger than the file. (Otherwise
        // a small file could request any amount of memory.)
        let held = headers.iter().filter(|header| header.kind != 0 && header.kind != NOBITS);
        let held = held.fold(0_u64, |sum, header| sum.saturating_add(header.size));
        if held > bytes.len() as u64 {
            let what = format!(
                "its sections have {held} bytes, the file has {}: it is cut short, or they overlap",
                bytes.len()
            );
            return Err(fault("ELF header", what));
        }
        let mut elf = Elf::default();
        for (number, header) in headers.iter().enumerate() {
            elf.sections.push(section(&file, number, header, &all_names)?);
        }
        for (number, header) in headers.iter().enumerate() {
            if header.kind == SYMTAB {
                let names = text_of(header.link as usize).ok_or_else(|| {
                    let what =
                        format!("section {}, which holds the names, is missing", header.link);
                    fault(elf.place(number), what)
                })?;
                elf.symbols = elf.read_symbols(number, &names)?;
            }
        }
        for (number, header) in headers.iter().enumerate() {
            if header.kind == REL {
                let list = elf.read_relocations(number)?;
                let target = header.info as usize;
                if target >= elf.sections.len() {
                    let what = format!("it is for section {target}, which is missing");
                    return Err(fault(elf.place(number), what));
                }
                elf.relocations.push((target, list));
            }
        }
        Ok(elf)
    }

    /// Returns the name of a section in messages.
    pub fn place(&self, section: usize) -> String {
        match self.sections.get(section) {
            Some(found) if !found.name.is_empty() => format!("section {}", found.name),
            _ => format!("section {section}"),
        }
    }

    /// Returns the number of the section with this name.
    pub fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    /// Returns the relocations of a section.
    pub fn relocations_of(&self, section: usize) -> impl Iterator<Item = &Relocation> {
        let lists = self.relocations.iter().filter(move |(target, _)| *target == section);
        lists.flat_map(|(_, list)| list)
    }

    fn read_symbols(&self, number: usize, names: &Bytes<'_>) -> Result<Vec<Symbol>, ObjectError> {
        let section = &self.sections[number];
        let table = Bytes(&section.bytes);
        let mut symbols = Vec::with_capacity(section.bytes.len() / 24);
        for (index, at) in (0..section.size).step_by(24).enumerate() {
            let entry = (|| {
                let index_of_section = table.u16(at + 6)?;
                let info = table.u8(at + 4)?;
                Some(Symbol {
                    name: names.text(u64::from(table.u32(at)?))?,
                    value: table.u64(at + 8)?,
                    size: table.u64(at + 16)?,
                    kind: match info & 15 {
                        1 => SymbolKind::Object,
                        2 => SymbolKind::Function,
                        3 => SymbolKind::Section,
                        _ => SymbolKind::Other,
                    },
                    section: match index_of_section {
                        0 | 0xff00.. => None,
                        index => Some(usize::from(index)),
                    },
                    is_weak: info >> 4 == 2,
                })
            })();
            let symbol = entry.ok_or_else(|| {
                fault(self.place(number), format!("symbol {index} is cut short, or has no name"))
            })?;
            if symbol.section.is_some_and(|section| section >= self.sections.len()) {
                let what = format!("symbol {} is in a section that does not exist", symbol.name);
                return Err(fault(self.place(number), what));
            }
            symbols.push(symbol);
        }
        Ok(symbols)
    }

    fn read_relocations(&self, number: usize) -> Result<Vec<Relocation>, ObjectError> {
        let section = &self.sections[number];
        let table = Bytes(&section.bytes);
        let mut list = Vec::with_capacity(section.bytes.len() / 16);
        for (index, at) in (0..section.size).step_by(16).enumerate() {
            let entry = table.u64(at).zip(table.u64(at + 8));
            let (offset, info) = entry.ok_or_else(|| {
                fault(self.place(number), format!("relocation {index} is cut short"))
            })?;
            let symbol = (info >> 32) as usize;
            if symbol >= self.symbols.len() {
                let what = format!(
                    "relocation {index} is to symbol {symbol}; the file has {}",
                    self.symbols.len()
                );
                return Err(fault(self.place(number), what));
            }
            list.push(Relocation { offset, kind: info as u32, symbol });
        }
        Ok(list)
    }
}

fn check_ident(file: &Bytes<'_>) -> Result<(), ObjectError> {
    let wrong = |what: String| {
        let right = "a sched_ext policy is a BPF object (clang --target=bpf -g -O2 -c)";
        Err(fault("ELF header", format!("{what}; {right}")))
    };
    if file.slice(0, 4) != Some(b"\x7fELF") {
        return wrong("this is not an ELF file".into());
    }
    let (Some(class), Some(order)) = (file.u8(4), file.u8(5)) else {
        return wrong("the file ends within it".into());
    };
    if class != 2 {
        return wrong("this is not a 64-bit ELF file".into());
    }
    if order != 1 {
        return wrong(
            "its numbers are big-endian (bpfeb); the machine here is little-endian".into(),
        );
    }
    let (Some(kind), Some(machine)) = (file.u16(16), file.u16(18)) else {
        return wrong("the file ends within it".into());
    };
    if machine != MACHINE_BPF {
        return wrong(format!("it is for machine {machine}, not for BPF ({MACHINE_BPF})"));
    }
    if kind != 1 {
        return wrong(format!("it is of type {kind}, not a relocatable object (1)"));
    }
    Ok(())
}

fn read_header(file: &Bytes<'_>, at: u64) -> Option<Header> {
    file.slice(at, 64)?;
    Some(Header {
        name: file.u32(at)?,
        kind: file.u32(at + 4)?,
        flags: file.u64(at + 8)?,
        offset: file.u64(at + 24)?,
        size: file.u64(at + 32)?,
        link: file.u32(at + 40)?,
        info: file.u32(at + 44)?,
    })
}

fn section(
    file: &Bytes<'_>,
    number: usize,
    header: &Header,
    names: &Bytes<'_>,
) -> Result<Section, ObjectError> {
    let name = names.text(u64::from(header.name)).ok_or_else(|| {
        fault(format!("section {number}"), "its name lies outside the table of names")
    })?;
    let place = || format!("section {name}");
    if header.size > SECTION_MAX {
        let what = format!("{} bytes; the maximum is {SECTION_MAX}", header.size);
        return Err(fault(place(), what));
    }
    // The header of section 0 has no meaning.
    let bytes = match header.kind {
        0 | NOBITS => &[][..],
        _ => file.slice(header.offset, header.size).ok_or_else(|| {
            let what = format!(
                "bytes {} to {} of a file of {}: it is cut short",
                header.offset,
                header.offset.saturating_add(header.size),
                file.0.len()
            );
            fault(place(), what)
        })?,
    };
    let (kind, flags, size) = (header.kind, header.flags, header.size);
    Ok(Section { name, kind, flags, size, bytes: bytes.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ObjectWriter;

    #[test]
    fn sections_symbols_and_relocations_are_read() {
        let mut writer = ObjectWriter::new();
        let text = writer.section("struct_ops/enqueue", PROGBITS, ALLOC | EXEC, vec![0; 16]);
        let data = writer.section(".bss", NOBITS, ALLOC, vec![0; 24]);
        let variable = writer.object("total", data, 8, 8);
        let missing = writer.undefined("scx_bpf_now", true);
        writer.relocation(text, 0, 1, variable);
        writer.relocation(text, 8, 10, missing);
        let elf = Elf::read(&writer.finish()).expect("the object is valid");
        let text = elf.section("struct_ops/enqueue").expect("the section exists");
        assert!(elf.sections[text].is_code());
        let bss = elf.section(".bss").expect("the section exists");
        assert_eq!((elf.sections[bss].size, elf.sections[bss].bytes.len()), (24, 0));
        let relocations: Vec<&Relocation> = elf.relocations_of(text).collect();
        assert_eq!(relocations.len(), 2);
        let symbol = &elf.symbols[relocations[0].symbol];
        assert_eq!((symbol.name.as_str(), symbol.value, symbol.size), ("total", 8, 8));
        assert_eq!((symbol.kind, symbol.section), (SymbolKind::Object, Some(bss)));
        let symbol = &elf.symbols[relocations[1].symbol];
        assert!(symbol.is_weak && symbol.section.is_none());
        assert_eq!(relocations[1].kind, 10);
    }

    #[test]
    fn what_is_no_bpf_object_is_refused_with_the_reason() {
        let good = ObjectWriter::new().finish();
        let message = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            Elf::read(&bytes).expect_err("the object is refused").to_string()
        };
        assert!(message(0, b'x').contains("not an ELF file"));
        assert!(message(4, 1).contains("64-bit"));
        assert!(message(5, 2).contains("big-endian"));
        assert!(message(18, 62).contains("machine 62, not for BPF (247)"));
        assert!(message(16, 2).contains("type 2, not a relocatable"));
        assert!(message(58, 40).contains("section headers of 40 bytes"));
        assert!(
            Elf::read(b"")
                .expect_err("an empty file is refused")
                .to_string()
                .contains("not an ELF file")
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_or_read_and_never_more() {
        let mut writer = ObjectWriter::new();
        let text = writer.section("struct_ops/tick", PROGBITS, ALLOC | EXEC, vec![0x95; 8]);
        let symbol = writer.undefined("f", false);
        writer.relocation(text, 0, 10, symbol);
        let whole = writer.finish();
        for len in 0..whole.len() {
            let error = Elf::read(&whole[..len]).expect_err("a cut file lacks headers");
            assert!(!error.what.is_empty());
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = Elf::read(&bytes);
            }
        }
    }
}
