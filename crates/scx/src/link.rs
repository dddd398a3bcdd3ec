//! Links an object for a machine: fills in addresses, resolves relocations against the kernel's
//! types, applies settings and checks the code.

use crate::arena::PAGE;
use crate::bpf::{BPF_ALU, BPF_ALU64, BPF_LD, BPF_LDX, BPF_PSEUDO_CALL, BPF_STX};
use crate::btf::{Kind, essential_name};
use crate::check::{ARGUMENTS, CONTEXT, check};
use crate::core_relo::{Resolution, resolve};
use crate::elf::{
    ALLOC, NOBITS, PROGBITS, R_BPF_64_32, R_BPF_64_64, R_BPF_64_ABS32, R_BPF_64_ABS64, Relocation,
    SymbolKind,
};
use crate::error::ObjectError;
use crate::image::{Data, Function, Image, Target, Variable};
use crate::insn::{CALL, CALL_KFUNC, CALL_LOCAL, Insn, LDDW, decode};
use crate::kernel_types::{KernelTypes, enumerator};
use crate::kfuncs;
use crate::map_def;
use crate::memory::{self, FIRST_FREE, address, code_address, code_number, map_handle};
use crate::object::Object;
use crate::ops::{Callback, OpsNumbers};
use crate::settings::Setting;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum size of all data of an object together, bytes.
const DATA_MAX: u64 = 64 << 20;

/// `LINUX_KERNEL_VERSION` of the emulated kernel, 6.18.0.
const KERNEL_VERSION: u64 = 6 << 16 | 18 << 8;

impl Object {
    /// Links the object for a machine.
    ///
    /// # Errors
    /// If the object requests something that the emulated kernel lacks, its code is wrong, or a
    /// setting cannot be applied.
    pub fn link(&self, target: Target, settings: &[Setting]) -> Result<Image, ObjectError> {
        self.link_unnamed(target, settings).map_err(|error| error.in_file(&self.file))
    }

    fn link_unnamed(&self, target: Target, settings: &[Setting]) -> Result<Image, ObjectError> {
        let mut image = self.link_as_it_is(target)?;
        image.set(settings)?;
        Ok(image)
    }

    /// Links the object without settings. Does not check the definitions of maps: [`Image::set`]
    /// does.
    ///
    /// # Errors
    /// As for [`link`](Object::link).
    pub fn link_as_it_is(&self, target: Target) -> Result<Image, ObjectError> {
        let mut linker = Linker::new(self, target);
        linker.read_code()?;
        linker.read_data()?;
        linker.image.maps = map_def::read(&self.btf, &self.elf)?;
        linker.find_variables();
        linker.relocate_code()?;
        linker.relocate_data()?;
        linker.resolve_types()?;
        linker.read_ops()?;
        linker.check_code()?;
        linker.read_lines();
        Ok(linker.image)
    }
}

/// An object while it is being linked.
struct Linker<'a> {
    object: &'a Object,
    target: Target,
    image: Image,
    /// The range in the image of each code section of the file.
    code: BTreeMap<usize, Range<usize>>,
    /// First instructions of functions that are called by address.
    by_address: Vec<usize>,
}

impl<'a> Linker<'a> {
    fn new(object: &'a Object, target: Target) -> Linker<'a> {
        let image = Image {
            file: object.file.clone(),
            name: String::new(),
            code: vec![],
            functions: vec![],
            arena: vec![],
            data: vec![],
            maps: vec![],
            variables: vec![],
            callbacks: [None; Callback::COUNT],
            ops: OpsNumbers::default(),
            kfuncs: vec![],
            poisons: vec![],
            absent: vec![],
            never_called: vec![],
            cpus: target.cpus,
            types: KernelTypes::new(target.cpus),
            btf: object.btf.clone(),
            user: None,
            lines: vec![],
        };
        Linker { object, target, image, code: BTreeMap::new(), by_address: vec![] }
    }

    fn fault(&self, section: usize, what: impl Into<String>) -> ObjectError {
        ObjectError::new(self.object.elf.place(section), what)
    }

    fn read_code(&mut self) -> Result<(), ObjectError> {
        for (number, section) in self.object.elf.sections.iter().enumerate() {
            if !section.is_code() {
                continue;
            }
            let insns = decode(&section.bytes).map_err(|at| {
                self.fault(number, format!("instruction {at} is cut short or has no second half"))
            })?;
            let start = self.image.code.len();
            self.image.code.extend(insns);
            self.code.insert(number, start..self.image.code.len());
        }
        let mut functions = vec![];
        for symbol in &self.object.elf.symbols {
            let range = symbol.section.and_then(|section| self.code.get(&section));
            let (Some(range), Some(section)) = (range, symbol.section) else { continue };
            if symbol.kind != SymbolKind::Function {
                continue;
            }
            let start = range.start as u64 + symbol.value / 8;
            let end = start.saturating_add(symbol.size / 8);
            if symbol.value % 8 != 0 || end > range.end as u64 {
                let what = format!("function {} does not lie within it", symbol.name);
                return Err(self.fault(section, what));
            }
            let section = self.object.elf.sections[section].name.clone();
            let code = start as usize..end as usize;
            functions.push(Function { name: symbol.name.clone(), section, code });
        }
        functions.sort_by_key(|function| function.code.start);
        self.image.functions = functions;
        Ok(())
    }

    fn read_data(&mut self) -> Result<(), ObjectError> {
        let (table, ..) = self.object.struct_ops()?;
        let mut total = 0;
        for (number, section) in self.object.elf.sections.iter().enumerate() {
            let is_data = section.flags & ALLOC != 0
                && !section.is_code()
                && matches!(section.kind, PROGBITS | NOBITS)
                && [".data", ".bss", ".rodata"].iter().any(|kind| section.name.starts_with(kind));
            if is_arena(&section.name) && section.flags & ALLOC != 0 {
                total += section.size;
                if total > DATA_MAX {
                    let what = format!("it has {} bytes; the maximum is {DATA_MAX}", section.size);
                    return Err(self.fault(number, what));
                }
                let mut bytes = section.bytes.clone();
                bytes.resize(section.size as usize, 0);
                self.image.arena = bytes;
                continue;
            }
            // Programs may read the table of callbacks, but not write it.
            if !is_data && number != table {
                continue;
            }
            total += section.size;
            if total > DATA_MAX {
                let what = format!("with it the data has {total} bytes; the maximum is {DATA_MAX}");
                return Err(self.fault(number, what));
            }
            let mut bytes = section.bytes.clone();
            bytes.resize(section.size as usize, 0);
            self.image.data.push(Data {
                name: section.name.clone(),
                bytes,
                is_writable: is_data && !section.name.starts_with(".rodata"),
                section: Some(number),
            });
        }
        self.read_kconfig();
        Ok(())
    }

    /// Makes the section of the kernel's configuration that the object uses.
    fn read_kconfig(&mut self) {
        let btf = &self.object.btf;
        let mut bytes = vec![];
        let data = self.image.data.len();
        for var in btf.section(".kconfig").unwrap_or_default() {
            let Kind::Var { ty, .. } = btf.get(var.ty).kind else { continue };
            let size = btf.size_of(ty).unwrap_or(8).min(4096);
            let name = btf.get(var.ty).name.clone();
            let value = match name.as_str() {
                "LINUX_KERNEL_VERSION" => KERNEL_VERSION,
                "CONFIG_HZ" => u64::from(self.target.hz),
                "CONFIG_NR_CPUS" => u64::from(self.target.cpus),
                "CONFIG_X86_64" => 1,
                _ => 0,
            };
            let offset = bytes.len().next_multiple_of(8);
            bytes.resize(offset + (size as usize).next_multiple_of(8), 0);
            let value = value.to_le_bytes();
            let len = value.len().min(size as usize);
            bytes[offset..offset + len].copy_from_slice(&value[..len]);
            let offset = offset as u32;
            let (type_name, is_signed) = (btf.type_name(ty), btf.is_signed(ty));
            let element = None;
            self.image.variables.push(Variable {
                name,
                data,
                offset,
                size,
                element,
                type_name,
                is_signed,
            });
        }
        if !bytes.is_empty() {
            let name = ".kconfig".into();
            self.image.data.push(Data { name, bytes, is_writable: false, section: None });
        }
    }

    /// Returns the index of the data section with this number in the file.
    fn data_of(&self, section: usize) -> Option<usize> {
        self.image.data.iter().position(|data| data.section == Some(section))
    }

    fn find_variables(&mut self) {
        let btf = &self.object.btf;
        let types: BTreeMap<&str, u32> = btf
            .iter()
            .filter_map(|(_, ty)| match ty.kind {
                Kind::Var { ty: of, .. } => Some((ty.name.as_str(), of)),
                _ => None,
            })
            .collect();
        for symbol in &self.object.elf.symbols {
            let data = symbol.section.and_then(|section| self.data_of(section));
            let (Some(data), SymbolKind::Object) = (data, symbol.kind) else { continue };
            let len = self.image.data[data].bytes.len() as u64;
            if symbol.value.saturating_add(symbol.size) <= len {
                let ty = types.get(symbol.name.as_str()).copied();
                let array = ty.map(|ty| btf.resolve(ty).kind.clone());
                let element = match array {
                    Some(Kind::Array { element, .. }) => btf.size_of(element),
                    _ => None,
                };
                self.image.variables.push(Variable {
                    name: symbol.name.clone(),
                    data,
                    offset: symbol.value as u32,
                    size: symbol.size as u32,
                    element,
                    type_name: ty.map_or(String::new(), |ty| btf.type_name(ty)),
                    is_signed: ty.is_some_and(|ty| btf.is_signed(ty)),
                });
            }
        }
        self.image.variables.sort_by(|a, b| (&a.name, a.offset).cmp(&(&b.name, b.offset)));
        // User space fills in the kernel's numbers before it loads a policy.
        for at in 0..self.image.variables.len() {
            let name = self.image.variables[at].name.strip_prefix("__SCX_");
            let value = name.and_then(|name| enumerator(&format!("SCX_{name}")));
            if let Some(value) = value {
                let variable = self.image.variables[at].clone();
                self.image.write(&variable, variable.offset, variable.size, value);
            }
        }
    }

    fn poison(&mut self, at: usize, why: String) {
        let number = self.image.poisons.iter().position(|known| *known == why);
        let number = number.unwrap_or_else(|| {
            self.image.poisons.push(why);
            self.image.poisons.len() - 1
        });
        self.image.code[at] = Insn::poison(number);
    }

    fn relocate_code(&mut self) -> Result<(), ObjectError> {
        let sections: Vec<(usize, Range<usize>)> =
            self.code.iter().map(|(section, range)| (*section, range.clone())).collect();
        for (section, range) in sections {
            for relocation in self.object.elf.relocations_of(section) {
                let at = range.start as u64 + relocation.offset / 8;
                if relocation.offset % 8 != 0 || at >= range.end as u64 {
                    let what = format!(
                        "a relocation of byte {}, not of an instruction",
                        relocation.offset
                    );
                    return Err(self.fault(section, what));
                }
                self.relocate(section, at as usize, relocation)?;
            }
            // Calls within a section are relative and have no relocation.
            for at in range.clone() {
                let insn = self.image.code[at];
                if insn.op == CALL && insn.src == BPF_PSEUDO_CALL {
                    let to = at as i64 + 1 + insn.imm;
                    self.image.code[at] = Insn { op: CALL_LOCAL, dst: 0, src: 0, off: 0, imm: to };
                }
            }
        }
        // Targets are checked when all functions are known.
        for at in 0..self.image.code.len() {
            let insn = self.image.code[at];
            if insn.op == CALL_LOCAL
                && !self
                    .image
                    .functions
                    .iter()
                    .any(|function| function.code.start as i64 == insn.imm)
            {
                let what = format!("insn {at} calls insn {}, where no function begins", insn.imm);
                return Err(ObjectError::new(self.place_of(at), what));
            }
        }
        Ok(())
    }

    fn relocate(
        &mut self,
        section: usize,
        at: usize,
        relocation: &Relocation,
    ) -> Result<(), ObjectError> {
        let insn = self.image.code[at];
        match relocation.kind {
            R_BPF_64_64 if insn.op == LDDW => self.relocate_load(at, relocation.symbol),
            R_BPF_64_32 if insn.op == CALL => self.relocate_call(at, relocation.symbol),
            kind => {
                let op = insn.op;
                let what = format!("a relocation of kind {kind} of insn {at} ({op:#04x})");
                Err(self.fault(section, format!("{what} is not allowed here")))
            }
        }
    }

    fn relocate_load(&mut self, at: usize, symbol: usize) -> Result<(), ObjectError> {
        let symbol = &self.object.elf.symbols[symbol];
        let addend = self.image.code[at].imm as u64;
        let address = match symbol.section {
            None => self.extern_address(symbol.name.as_str(), symbol.is_weak)?,
            Some(to) => {
                let address = self.address_of(to, symbol.value.wrapping_add(addend));
                address.ok_or_else(|| {
                    let (name, to) = (&symbol.name, self.object.elf.place(to));
                    let what = format!("it takes the address of {name} in {to}");
                    let right = "which is not a function, variable or map";
                    ObjectError::new(self.place_of(at), format!("{what}, {right}"))
                })?
            }
        };
        self.image.code[at].imm = address as i64;
        self.image.code[at].src = 0;
        Ok(())
    }

    fn relocate_call(&mut self, at: usize, symbol: usize) -> Result<(), ObjectError> {
        let symbol = &self.object.elf.symbols[symbol];
        let insn = self.image.code[at];
        let Some(to) = symbol.section else {
            match self.kfunc(symbol.name.as_str(), symbol.is_weak)? {
                Some(number) => {
                    let imm = number as i64;
                    self.image.code[at] = Insn { op: CALL_KFUNC, dst: 0, src: 0, off: 0, imm };
                }
                None => {
                    let name = &symbol.name;
                    self.poison(at, format!("calls {name}, which the emulated kernel lacks"));
                }
            }
            return Ok(());
        };
        let range = self.code.get(&to).ok_or_else(|| {
            let what = format!("it calls {}, which is not code", symbol.name);
            ObjectError::new(self.place_of(at), what)
        })?;
        let imm = range.start as i64 + (symbol.value / 8) as i64 + insn.imm + 1;
        self.image.code[at] = Insn { op: CALL_LOCAL, dst: 0, src: 0, off: 0, imm };
        Ok(())
    }

    /// Returns the address of a byte of a section.
    fn address_of(&mut self, section: usize, offset: u64) -> Option<u64> {
        if let Some(range) = self.code.get(&section) {
            let at = range.start as u64 + offset / 8;
            if !offset.is_multiple_of(8) || at >= range.end as u64 {
                return None;
            }
            self.by_address.push(at as usize);
            return Some(code_address(at as usize));
        }
        if let Some(data) = self.data_of(section) {
            return Some(address(FIRST_FREE + data as u32, u32::try_from(offset).ok()?));
        }
        if is_arena(&self.object.elf.sections[section].name) {
            let offset = u32::try_from(offset).ok()?.checked_add(PAGE)?;
            return Some(address(memory::ARENA, offset));
        }
        if self.object.elf.sections[section].name == ".maps" {
            let map = self.image.maps.iter().position(|map| map.offset == offset)?;
            return Some(map_handle(map));
        }
        None
    }

    /// Returns the address of an external symbol: a function or a number of the kernel.
    fn extern_address(&mut self, name: &str, is_weak: bool) -> Result<u64, ObjectError> {
        let kconfig = self.image.data.iter().position(|data| data.name == ".kconfig");
        let variable = self
            .image
            .variables
            .iter()
            .find(|variable| Some(variable.data) == kconfig && variable.name == name);
        if let Some(variable) = variable {
            return Ok(address(FIRST_FREE + variable.data as u32, variable.offset));
        }
        if self.object.btf.function(name).is_some() {
            let number = self.kfunc(name, is_weak)?;
            return Ok(number.map_or(0, |number| address(memory::KFUNCS, (number as u32 + 1) * 8)));
        }
        if name == "runqueues" {
            // One per CPU: `bpf_per_cpu_ptr` finds it.
            return Ok(address(memory::RQS, 0));
        }
        // Other variables of the kernel: loads from address 0 give 0.
        self.absent(name);
        Ok(0)
    }

    fn absent(&mut self, name: &str) {
        if !self.image.absent.iter().any(|known| known == name) {
            self.image.absent.push(name.into());
        }
    }

    /// Returns the index of a kernel function among those that the object calls. `None` if the
    /// function is missing but optional. A function matches if name, number of parameters and
    /// presence of a result agree: policies probe several shapes of one name.
    fn kfunc(&mut self, name: &str, is_weak: bool) -> Result<Option<usize>, ObjectError> {
        let btf = &self.object.btf;
        let shape = btf.function(name).and_then(|id| btf.prototype(id));
        let known =
            shape.and_then(|(params, returns)| kfuncs::find(essential_name(name), params, returns));
        match known {
            Some(known) => {
                let number = self.image.kfuncs.iter().position(|&other| other == known);
                Ok(Some(number.unwrap_or_else(|| {
                    self.image.kfuncs.push(known);
                    self.image.kfuncs.len() - 1
                })))
            }
            None if is_weak => {
                self.absent(name);
                Ok(None)
            }
            None => {
                let why = match kfuncs::shapes(essential_name(name)).first() {
                    Some((params, returns)) => format!(
                        "extern {name} has a different prototype in the emulated kernel (6.18): \
                         {params} parameters, {}",
                        if *returns { "with a result" } else { "no result" }
                    ),
                    None => format!("extern {name} does not exist in the emulated kernel (6.18)"),
                };
                Err(ObjectError::new("", why))
            }
        }
    }

    fn relocate_data(&mut self) -> Result<(), ObjectError> {
        for number in 0..self.image.data.len() {
            let Some(section) = self.image.data[number].section else { continue };
            for relocation in self.object.elf.relocations_of(section) {
                let symbol = &self.object.elf.symbols[relocation.symbol];
                let width = match relocation.kind {
                    R_BPF_64_64 | R_BPF_64_ABS64 => 8,
                    R_BPF_64_ABS32 => 4,
                    kind => {
                        let what = format!("a relocation of kind {kind} of data is not allowed");
                        return Err(self.fault(section, what));
                    }
                };
                let at = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
                let end = at.saturating_add(width);
                let Some(bytes) = self.image.data[number].bytes.get(at..end) else {
                    let what = format!("a relocation of byte {at}, which does not exist");
                    return Err(self.fault(section, what));
                };
                let mut addend = [0; 8];
                addend[..width].copy_from_slice(bytes);
                let offset = symbol.value.wrapping_add(u64::from_le_bytes(addend));
                let address = match symbol.section {
                    None => self.extern_address(symbol.name.as_str(), symbol.is_weak)?,
                    Some(to) => self.address_of(to, offset).ok_or_else(|| {
                        let what = format!(
                            "it holds the address of {}, which is neither code nor data",
                            symbol.name
                        );
                        self.fault(section, what)
                    })?,
                };
                let bytes = &mut self.image.data[number].bytes[at..end];
                bytes.copy_from_slice(&address.to_le_bytes()[..width]);
            }
        }
        Ok(())
    }

    fn resolve_types(&mut self) -> Result<(), ObjectError> {
        for (section, relocations) in &self.object.ext.core {
            let range = self.object.elf.section(section).and_then(|number| self.code.get(&number));
            let Some(range) = range.cloned() else { continue };
            for relocation in relocations {
                let at = range.start + relocation.offset as usize / 8;
                if relocation.offset % 8 != 0 || !range.contains(&at) {
                    let what = format!(
                        "a relocation of byte {} of {section}, not of an instruction",
                        relocation.offset
                    );
                    return Err(ObjectError::new("section .BTF.ext", what));
                }
                let resolution = resolve(&self.object.btf, &self.image.types, relocation)?;
                self.apply(at, resolution)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, at: usize, resolution: Resolution) -> Result<(), ObjectError> {
        let insn = self.image.code[at];
        let (value, sizes) = match resolution {
            Resolution::Missing(name) => {
                self.poison(at, format!("uses {name}, which the emulated kernel lacks"));
                return Ok(());
            }
            Resolution::Number(value) => (value, None),
            Resolution::Offset { offset, from_size, to_size } => {
                (offset, Some((from_size, to_size)))
            }
        };
        match insn.class() {
            BPF_LD if insn.op == LDDW => self.image.code[at].imm = value as i64,
            BPF_ALU | BPF_ALU64 => self.image.code[at].imm = i64::from(value as u32 as i32),
            BPF_LDX..=BPF_STX => {
                let Ok(off) = i16::try_from(value) else {
                    let what = format!("an offset of {value} does not fit in insn {at}");
                    return Err(ObjectError::new(self.place_of(at), what));
                };
                let mut changed = Insn { off: i32::from(off), ..insn };
                if let Some((from, to)) = sizes
                    && from == insn.width()
                    && from != to
                {
                    changed = changed.with_width(to).unwrap_or(changed);
                }
                self.image.code[at] = changed;
            }
            _ => {
                let what = format!("insn {at} ({:#04x}) cannot take a relocation", insn.op);
                return Err(ObjectError::new(self.place_of(at), what));
            }
        }
        Ok(())
    }

    fn read_ops(&mut self) -> Result<(), ObjectError> {
        let (section, offset, ty) = self.object.struct_ops()?;
        let btf = &self.object.btf;
        let Some(data) = self.data_of(section) else {
            return Err(self.fault(section, "it holds no data"));
        };
        for member in btf.members(ty).unwrap_or_default() {
            let at = offset.saturating_add(u64::from(member.bit_offset / 8));
            let size = btf.size_of(member.ty).unwrap_or(0) as usize;
            let start = usize::try_from(at).unwrap_or(usize::MAX);
            let Some(bytes) = self.image.data[data].bytes.get(start..start.saturating_add(size))
            else {
                let what = format!("member {} lies beyond its end", member.name);
                return Err(self.fault(section, what));
            };
            let mut value = [0; 8];
            let len = size.min(8);
            value[..len].copy_from_slice(&bytes[..len]);
            let value = u64::from_le_bytes(value);
            let name = essential_name(&member.name);
            if name == "name" {
                let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                self.image.name = String::from_utf8_lossy(text).into_owned();
            } else if matches!(btf.resolve(member.ty).kind, Kind::Ptr(_)) {
                if value == 0 {
                    continue;
                }
                let Some(callback) = Callback::find(name) else {
                    let what = format!("ops.{name} does not exist in the emulated kernel (6.18)");
                    return Err(self.fault(section, what));
                };
                let pc = code_number(value).ok_or_else(|| {
                    self.fault(section, format!("ops.{name} is not the address of a function"))
                })?;
                self.image.callbacks[usize::from(callback.0)] = Some(pc as u32);
            } else if let Some(number) = self.image.ops.get_mut(name) {
                *number = value;
            } else if value != 0 {
                let what = format!("ops.{name} does not exist in the emulated kernel (6.18)");
                return Err(self.fault(section, what));
            }
        }
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
        if self.image.name.is_empty() || !self.image.name.bytes().all(is_good) {
            let what = format!(
                "ops.name is {:?}; the kernel accepts one or more letters, digits, '_' and '.'",
                self.image.name
            );
            return Err(self.fault(section, what));
        }
        Ok(())
    }

    /// Returns the name of an instruction's place in messages: its function, or its section.
    fn place_of(&self, at: usize) -> String {
        match self.image.function_at(at) {
            Some(function) => format!("function {}", function.name),
            None => {
                let section = self.code.iter().find(|(_, range)| range.contains(&at));
                section.map_or("code".into(), |(number, _)| self.object.elf.place(*number))
            }
        }
    }

    fn check_code(&mut self) -> Result<(), ObjectError> {
        let callbacks = self.image.callbacks.iter().flatten().map(|&pc| (pc as usize, CONTEXT));
        let mut entries: Vec<(usize, u16)> = callbacks.collect();
        for function in &self.image.functions {
            if function.section == "syscall" {
                entries.push((function.code.start, CONTEXT));
            } else if function.section != ".text"
                && !function.section.starts_with("struct_ops")
                && !self.image.never_called.contains(&function.name)
            {
                self.image.never_called.push(function.name.clone());
            }
        }
        let callbacks: Vec<usize> = entries.iter().map(|entry| entry.0).collect();
        let others = self.by_address.iter().filter(|at| !callbacks.contains(at));
        entries.extend(others.map(|&at| (at, ARGUMENTS)));
        let mut seen: Vec<usize> = vec![];
        while let Some((entry, given)) = entries.pop() {
            if seen.contains(&entry) {
                continue;
            }
            seen.push(entry);
            let range = self.code.values().find(|range| range.contains(&entry));
            let Some(range) = range.cloned() else { continue };
            let mut called = vec![];
            check(&self.image.code, &range, entry, given, &mut called).map_err(|flaw| {
                let function = self.image.function_at(flaw.at);
                let start = function.map_or(range.start, |function| function.code.start);
                let what = format!("insn {}: {}", flaw.at - start, flaw.what);
                ObjectError::new(self.place_of(flaw.at), what)
            })?;
            entries.extend(called.into_iter().map(|at| (at, ARGUMENTS)));
        }
        Ok(())
    }

    fn read_lines(&mut self) {
        for (section, lines) in &self.object.ext.lines {
            let range = self.object.elf.section(section).and_then(|number| self.code.get(&number));
            let Some(range) = range else { continue };
            for line in lines {
                let at = range.start as u64 + u64::from(line.offset / 8);
                if at < range.end as u64 {
                    self.image.lines.push((at as u32, format!("{}:{}", line.file, line.line)));
                }
            }
        }
        self.image.lines.sort_by_key(|(at, _)| *at);
    }
}

/// Whether variables of this section are in the arena.
fn is_arena(section: &str) -> bool {
    section.starts_with(".addr_space.") || section.starts_with(".arena.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::POISON;
    use crate::kfuncs::KFUNCS;
    use crate::testing::{BtfWriter, ObjectWriter, least_object};

    const TARGET: Target = Target { cpus: 2, hz: 250 };
    const STOP: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
    const ZERO: [u8; 8] = [0xb7, 0, 0, 0, 0, 0, 0, 0];
    const CALL_OUT: [u8; 8] = [0x85, 0x10, 0, 0, 0xff, 0xff, 0xff, 0xff];

    /// Unusual properties of an object.
    struct Variant {
        licence: &'static [u8],
        /// Code of `tick`.
        code: Vec<u8>,
        /// A kernel function that the first instruction calls: name, parameters, result, weak.
        calls: Option<(&'static str, usize, bool, bool)>,
        /// The member of the table that holds the callback.
        member: &'static str,
        name: &'static [u8],
    }

    impl Default for Variant {
        fn default() -> Self {
            let code = [ZERO, STOP].concat();
            Variant { licence: b"GPL\0", code, calls: None, member: "tick", name: b"odd\0" }
        }
    }

    fn object(variant: &Variant) -> Vec<u8> {
        let (mut btf, mut object) = (BtfWriter::default(), ObjectWriter::new());
        let int = btf.int("int", 4, true);
        let char = btf.int("char", 1, true);
        let name = btf.array(char, int, 16);
        let nothing = btf.prototype(0, &[]);
        let pointer = btf.pointer(nothing);
        let members = [(variant.member, pointer, 0), ("flags", int, 64), ("name", name, 128)];
        let ops = btf.structure("sched_ext_ops", 32, &members);
        let variable = btf.variable("ops", ops, 1);
        btf.data_section(".struct_ops.link", &[(variable, 32)]);
        let code = object.code("struct_ops/tick", variant.code.clone());
        let tick = object.function("odd_tick", code, 0, variant.code.len() as u64);
        let mut table = vec![0; 16];
        table.extend(variant.name);
        table.resize(32, 0);
        let section = object.section(".struct_ops.link", PROGBITS, ALLOC, table);
        object.object("ops", section, 0, 32);
        object.relocation(section, 0, 2, tick);
        if let Some((name, params, returns, is_weak)) = variant.calls {
            let proto = btf.prototype(if returns { int } else { 0 }, &vec![int; params]);
            btf.function(name, proto, 2);
            let symbol = object.undefined(name, is_weak);
            object.relocation(code, 0, 10, symbol);
        }
        object.section("license", PROGBITS, ALLOC, variant.licence.to_vec());
        btf.line("struct_ops/tick", 0, "odd.bpf.c", 12);
        let ext = btf.finish_ext();
        object.section(".BTF", PROGBITS, 0, btf.finish());
        object.section(".BTF.ext", PROGBITS, 0, ext);
        object.finish()
    }

    fn link(variant: &Variant) -> Result<Image, ObjectError> {
        Object::read("odd.bpf.o", &object(variant))?.link(TARGET, &[])
    }

    fn message(variant: &Variant) -> String {
        link(variant).expect_err("linking fails").to_string()
    }

    #[test]
    fn callbacks_and_lines_are_found() {
        let image = link(&Variant::default()).expect("the object links");
        assert_eq!((image.name.as_str(), image.callback(Callback::TICK)), ("odd", Some(0)));
        assert_eq!(image.callback(Callback::ENQUEUE), None);
        assert_eq!(image.place(1), "odd_tick, insn 1 (odd.bpf.c:12)");
        let least = Object::read("least.bpf.o", &least_object()).expect("the object is valid");
        assert!(least.link(TARGET, &[]).expect("the object links").code.is_empty());
    }

    #[test]
    fn kernel_functions_are_found_by_name_and_shape() {
        let code = [CALL_OUT, ZERO, STOP].concat();
        let calls = |name, params, returns, is_weak| Variant {
            code: code.clone(),
            calls: Some((name, params, returns, is_weak)),
            ..Variant::default()
        };
        let image = link(&calls("scx_bpf_now___new", 0, true, false)).expect("the object links");
        assert_eq!(KFUNCS[image.kfuncs[0]].name, "scx_bpf_now", "the flavour is ignored");
        assert_eq!(image.code[0].op, CALL_KFUNC);
        let other = message(&calls("scx_bpf_now", 1, true, false));
        let expected = "odd.bpf.o: extern scx_bpf_now has a different prototype in the emulated \
                        kernel (6.18): 0 parameters, with a result";
        assert_eq!(other, expected);
        let unknown =
            "odd.bpf.o: extern scx_bpf_dance does not exist in the emulated kernel (6.18)";
        assert_eq!(message(&calls("scx_bpf_dance", 0, true, false)), unknown);
        let image = link(&calls("scx_bpf_dance", 0, true, true)).expect("the function is optional");
        assert_eq!(image.absent, ["scx_bpf_dance"]);
        let Insn { op, imm, .. } = image.code[0];
        assert_eq!((op, imm), (POISON, 0));
    }

    #[test]
    fn what_a_kernel_would_refuse_is_refused() {
        let licence = message(&Variant { licence: b"MIT\0", ..Variant::default() });
        assert!(licence.starts_with("odd.bpf.o: section license: \"MIT\": the kernel refuses"));
        let member = message(&Variant { member: "balance", ..Variant::default() });
        let expected =
            "section .struct_ops.link: ops.balance does not exist in the emulated kernel";
        assert!(member.contains(expected), "{member}");
        let name = message(&Variant { name: b"a b\0", ..Variant::default() });
        assert!(
            name.contains("ops.name is \"a b\"; the kernel accepts one or more letters"),
            "{name}"
        );
        // r0 = r7, which was never written.
        let code = [[0xbf, 0x70, 0, 0, 0, 0, 0, 0], STOP].concat();
        let flaw = message(&Variant { code, ..Variant::default() });
        assert_eq!(flaw, "odd.bpf.o: function odd_tick: insn 0: R7 !read_ok");
        let code = [[0x86, 0, 0, 0, 0, 0, 0, 0], STOP].concat();
        assert!(message(&Variant { code, ..Variant::default() }).contains("unknown opcode"));
        let code = [[0x85, 0x10, 0, 0, 1, 0, 0, 0], ZERO, STOP].concat();
        let call = message(&Variant { code, ..Variant::default() });
        assert!(call.contains("insn 0 calls insn 2, where no function begins"), "{call}");
    }
}
