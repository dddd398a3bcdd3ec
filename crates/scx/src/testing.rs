//! Test support: writers of objects and of BTF, so that a test states only the properties that
//! matter to it. The output of real compilers is tested with the objects in `tests/objects`.

use crate::elf::{NOBITS, PROGBITS};
use std::collections::BTreeMap;

/// A section header: name, kind, flags, contents, size, link, info.
type Header = (u32, u32, u64, Vec<u8>, u64, u32, u32);

/// Writes an ELF object for BPF.
#[derive(Default)]
pub struct ObjectWriter {
    sections: Vec<(String, u32, u64, Vec<u8>)>,
    symbols: Vec<(String, u64, u64, u8, u16)>,
    relocations: BTreeMap<u16, Vec<(u64, u64)>>,
}

impl ObjectWriter {
    pub fn new() -> ObjectWriter {
        ObjectWriter::default()
    }

    /// Adds a section and returns its number.
    pub fn section(&mut self, name: &str, kind: u32, flags: u64, bytes: Vec<u8>) -> u16 {
        self.sections.push((name.into(), kind, flags, bytes));
        self.sections.len() as u16
    }

    /// Adds a section of code.
    pub fn code(&mut self, name: &str, bytes: Vec<u8>) -> u16 {
        self.section(name, PROGBITS, crate::elf::ALLOC | crate::elf::EXEC, bytes)
    }

    fn symbol(&mut self, name: &str, value: u64, size: u64, info: u8, section: u16) -> u32 {
        self.symbols.push((name.into(), value, size, info, section));
        self.symbols.len() as u32
    }

    /// Adds a variable and returns its number.
    pub fn object(&mut self, name: &str, section: u16, value: u64, size: u64) -> u32 {
        self.symbol(name, value, size, 0x11, section)
    }

    /// Adds a function.
    pub fn function(&mut self, name: &str, section: u16, value: u64, size: u64) -> u32 {
        self.symbol(name, value, size, 0x12, section)
    }

    /// Adds a symbol defined elsewhere.
    pub fn undefined(&mut self, name: &str, is_weak: bool) -> u32 {
        self.symbol(name, 0, 0, if is_weak { 0x20 } else { 0x10 }, 0)
    }

    /// Adds a relocation in `section`.
    pub fn relocation(&mut self, section: u16, offset: u64, kind: u64, symbol: u32) {
        self.relocations.entry(section).or_default().push((offset, u64::from(symbol) << 32 | kind));
    }

    /// Returns the file: header, contents, section headers.
    pub fn finish(&self) -> Vec<u8> {
        let mut names = vec![0_u8];
        let mut name = |text: &str| {
            let at = names.len() as u32;
            names.extend(text.bytes());
            names.push(0);
            at
        };
        let mut all: Vec<Header> = vec![];
        for (text, kind, flags, bytes) in &self.sections {
            all.push((name(text), *kind, *flags, bytes.clone(), bytes.len() as u64, 0, 0));
        }
        let symbols = self.sections.len() as u32 + 1;
        let mut table = vec![0_u8; 24];
        for (text, value, size, info, section) in &self.symbols {
            table.extend(name(text).to_le_bytes());
            table.extend([*info, 0]);
            table.extend(section.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
        }
        let names_section = symbols + 1 + self.relocations.len() as u32;
        let len = table.len() as u64;
        all.push((name(".symtab"), 2, 0, table, len, names_section, 1));
        for (section, list) in &self.relocations {
            let mut table = vec![];
            for (offset, info) in list {
                table.extend(offset.to_le_bytes());
                table.extend(info.to_le_bytes());
            }
            let len = table.len() as u64;
            all.push((name(".rel"), 9, 0, table, len, symbols, u32::from(*section)));
        }
        let own = name(".strtab");
        let len = names.len() as u64;
        all.push((own, 3, 0, names, len, 0, 0));

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend(1_u16.to_le_bytes());
        file.extend(247_u16.to_le_bytes());
        file.resize(64, 0);
        let mut headers = vec![0_u8; 64];
        for (name, kind, flags, bytes, size, link, info) in &all {
            let offset = file.len() as u64;
            if *kind != NOBITS {
                file.extend(bytes);
            }
            headers.extend(name.to_le_bytes());
            headers.extend(kind.to_le_bytes());
            headers.extend(flags.to_le_bytes());
            headers.extend(0_u64.to_le_bytes());
            headers.extend(offset.to_le_bytes());
            headers.extend(size.to_le_bytes());
            headers.extend(link.to_le_bytes());
            headers.extend(info.to_le_bytes());
            headers.extend([0; 16]);
        }
        let table = file.len() as u64;
        file.extend(headers);
        file[40..48].copy_from_slice(&table.to_le_bytes());
        file[58..60].copy_from_slice(&64_u16.to_le_bytes());
        file[60..62].copy_from_slice(&(all.len() as u16 + 1).to_le_bytes());
        file[62..64].copy_from_slice(&(names_section as u16).to_le_bytes());
        file
    }
}

/// Writes BTF.
#[derive(Default)]
pub struct BtfWriter {
    types: Vec<u8>,
    names: Vec<u8>,
    count: u32,
    core: BTreeMap<String, Vec<[u32; 4]>>,
    lines: BTreeMap<String, Vec<[u32; 4]>>,
}

impl BtfWriter {
    fn name(&mut self, text: &str) -> u32 {
        if self.names.is_empty() {
            self.names.push(0);
        }
        if text.is_empty() {
            return 0;
        }
        let at = self.names.len() as u32;
        self.names.extend(text.bytes());
        self.names.push(0);
        at
    }

    /// Adds a type with these numbers and returns its own number.
    pub fn raw(&mut self, name: &str, info: u32, size: u32, more: &[u32]) -> u32 {
        let name = self.name(name);
        for number in [name, info, size].iter().chain(more) {
            self.types.extend(number.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    pub fn int(&mut self, name: &str, size: u32, is_signed: bool) -> u32 {
        self.raw(name, 1 << 24, size, &[(u32::from(is_signed) << 24) | (size * 8)])
    }

    pub fn pointer(&mut self, to: u32) -> u32 {
        self.raw("", 2 << 24, to, &[])
    }

    pub fn array(&mut self, element: u32, index: u32, len: u32) -> u32 {
        self.raw("", 3 << 24, 0, &[element, index, len])
    }

    /// Adds a structure with members: name, type, offset in bits.
    pub fn structure(&mut self, name: &str, size: u32, members: &[(&str, u32, u32)]) -> u32 {
        let mut more = vec![];
        for &(name, ty, offset) in members {
            more.extend([self.name(name), ty, offset]);
        }
        self.raw(name, 4 << 24 | members.len() as u32, size, &more)
    }

    pub fn enumeration(&mut self, name: &str, values: &[(&str, u64)]) -> u32 {
        let mut more = vec![];
        for &(name, value) in values {
            more.extend([self.name(name), value as u32, (value >> 32) as u32]);
        }
        self.raw(name, 19 << 24 | values.len() as u32, 8, &more)
    }

    pub fn typedef(&mut self, name: &str, ty: u32) -> u32 {
        self.raw(name, 8 << 24, ty, &[])
    }

    pub fn prototype(&mut self, returns: u32, params: &[u32]) -> u32 {
        let more: Vec<u32> = params.iter().flat_map(|&ty| [0, ty]).collect();
        self.raw("", 13 << 24 | params.len() as u32, returns, &more)
    }

    /// Adds a function. Linkage 1: defined here; 2: defined elsewhere.
    pub fn function(&mut self, name: &str, proto: u32, linkage: u32) -> u32 {
        self.raw(name, 12 << 24 | linkage, proto, &[])
    }

    pub fn variable(&mut self, name: &str, ty: u32, linkage: u32) -> u32 {
        self.raw(name, 14 << 24, ty, &[linkage])
    }

    pub fn data_section(&mut self, name: &str, vars: &[(u32, u32)]) -> u32 {
        let more: Vec<u32> = vars.iter().flat_map(|&(ty, size)| [ty, 0, size]).collect();
        self.raw(name, 15 << 24 | vars.len() as u32, 0, &more)
    }

    pub fn core_relocation(&mut self, section: &str, at: u32, ty: u32, access: &str, kind: u32) {
        let access = self.name(access);
        self.core.entry(section.into()).or_default().push([at, ty, access, kind]);
    }

    pub fn line(&mut self, section: &str, at: u32, file: &str, line: u32) {
        let file = self.name(file);
        self.lines.entry(section.into()).or_default().push([at, file, 0, line << 10]);
    }

    /// Returns the section `.BTF.ext`. Must be made before `.BTF`, as it adds names.
    pub fn finish_ext(&mut self) -> Vec<u8> {
        let mut parts = vec![];
        for records in [self.lines.clone(), self.core.clone()] {
            let mut part = vec![];
            if !records.is_empty() {
                part.extend(16_u32.to_le_bytes());
            }
            for (section, list) in records {
                part.extend(self.name(&section).to_le_bytes());
                part.extend((list.len() as u32).to_le_bytes());
                part.extend(list.iter().flatten().flat_map(|number| number.to_le_bytes()));
            }
            parts.push(part);
        }
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let (lines, core) = (parts[0].len() as u32, parts[1].len() as u32);
        for number in [32, 0, 0, 0, lines, lines, core] {
            bytes.extend(u32::to_le_bytes(number));
        }
        bytes.extend(parts.concat());
        bytes
    }

    /// Returns the section `.BTF`.
    pub fn finish(&mut self) -> Vec<u8> {
        self.name("");
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let (types, names) = (self.types.len() as u32, self.names.len() as u32);
        for number in [24, 0, types, types, names] {
            bytes.extend(u32::to_le_bytes(number));
        }
        bytes.extend(&self.types);
        bytes.extend(&self.names);
        bytes
    }
}

/// Returns the smallest object that can be linked: it has no callback.
pub fn least_object() -> Vec<u8> {
    let (mut btf, mut object) = (BtfWriter::default(), ObjectWriter::new());
    let int = btf.int("int", 4, true);
    let char = btf.int("char", 1, true);
    let name = btf.array(char, int, 128);
    let ops = btf.structure("sched_ext_ops", 128, &[("name", name, 0)]);
    let variable = btf.variable("ops", ops, 1);
    btf.data_section(".struct_ops.link", &[(variable, 128)]);
    let mut bytes = b"least".to_vec();
    bytes.resize(128, 0);
    let section = object.section(".struct_ops.link", PROGBITS, crate::elf::ALLOC, bytes);
    object.object("ops", section, 0, 128);
    object.section("license", PROGBITS, crate::elf::ALLOC, b"GPL\0".to_vec());
    let ext = btf.finish_ext();
    object.section(".BTF", PROGBITS, 0, btf.finish());
    object.section(".BTF.ext", PROGBITS, 0, ext);
    object.finish()
}

/// Returns a world of `cpus` CPUs with a policy that has no callbacks, and its machine.
pub fn world(cpus: u32) -> (crate::world::World, schedlab_core::Platform) {
    let object = crate::object::Object::read("least.bpf.o", &least_object());
    let target = crate::image::Target { cpus, hz: 250 };
    let image = object.and_then(|object| object.link(target, &[]));
    let image = image.unwrap_or_else(|error| panic!("{error}"));
    let topology = schedlab_core::Topology::flat(cpus);
    let platform = schedlab_core::Platform::new(cpus, 250);
    (crate::world::World::new(std::sync::Arc::new(image), &topology), platform)
}
