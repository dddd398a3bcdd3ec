//! A list of everything that an object requests and the emulated kernel lacks. (Linking stops at
//! the first such item.)

use crate::bpf::CALL_HELPER;
use crate::btf::{Kind, essential_name};
use crate::insn::{CALL, decode};
use crate::kfuncs;
use crate::map_def;
use crate::object::Object;
use crate::ops::Callback;
use std::collections::{BTreeMap, BTreeSet};

/// Contents of an object, and what the emulated kernel lacks of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// Number of instructions, including the unused halves of long ones.
    pub insns: usize,
    /// Members of the table that are functions.
    pub callbacks: Vec<String>,
    /// Its maps: name and kind, if they can be read.
    pub maps: Vec<String>,
    /// Helpers that are called, by number.
    pub helpers: BTreeSet<u32>,
    /// Kernel functions that it refers to.
    pub kfuncs: BTreeSet<String>,
    /// Programs of section `syscall`.
    pub programs: Vec<String>,
    /// Missing items that prevent it from being loaded.
    pub missing: Vec<String>,
    /// Items that end it when they are reached: helpers that are not emulated, by name if it is
    /// known.
    pub ends: Vec<String>,
}

impl Object {
    /// Surveys the object.
    pub fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for section in self.elf.sections.iter().filter(|section| section.is_code()) {
            survey.insns += section.bytes.len() / 8;
            for insn in decode(&section.bytes).unwrap_or_default() {
                if insn.op == CALL && insn.src == CALL_HELPER {
                    survey.helpers.insert(insn.imm as u32);
                }
            }
        }
        self.look_at_externs(&mut survey);
        self.look_at_maps(&mut survey);
        self.look_at_ops(&mut survey);
        for symbol in &self.elf.symbols {
            let section = symbol.section.map(|number| self.elf.sections[number].name.as_str());
            if section == Some("syscall") && symbol.kind == crate::elf::SymbolKind::Function {
                survey.programs.push(symbol.name.clone());
            }
        }
        for &number in &survey.helpers {
            if crate::helpers::name(number).is_none() {
                survey.ends.push(format!("helper {number}"));
            }
        }
        survey
    }

    fn look_at_externs(&self, survey: &mut Survey) {
        for symbol in self.elf.symbols.iter().filter(|symbol| symbol.section.is_none()) {
            let Some(function) = self.btf.function(&symbol.name) else { continue };
            survey.kfuncs.insert(symbol.name.clone());
            let shape = self.btf.prototype(function);
            let known = shape.and_then(|(params, returns)| {
                kfuncs::find(essential_name(&symbol.name), params, returns)
            });
            if known.is_none() && !symbol.is_weak {
                survey.missing.push(format!("kernel function {}", symbol.name));
            }
        }
    }

    fn look_at_maps(&self, survey: &mut Survey) {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for var in self.btf.section(".maps").unwrap_or_default() {
            let name = &self.btf.get(var.ty).name;
            let Kind::Var { ty, .. } = self.btf.get(var.ty).kind else { continue };
            match map_def::definition(&self.btf, name, ty, 0) {
                Ok(map) => {
                    *kinds.entry(map.kind.name().into()).or_default() += 1;
                    survey.maps.push(format!("{name} ({})", map.kind.name()));
                }
                Err(error) => survey.missing.push(error.to_string()),
            }
        }
    }

    fn look_at_ops(&self, survey: &mut Survey) {
        let Ok((section, offset, ty)) = self.struct_ops() else { return };
        let members = self.btf.members(ty).unwrap_or_default();
        for relocation in self.elf.relocations_of(section) {
            let at = members.iter().find(|member| {
                relocation.offset == offset.wrapping_add(u64::from(member.bit_offset / 8))
            });
            let Some(member) = at else { continue };
            survey.callbacks.push(member.name.clone());
            if Callback::find(essential_name(&member.name)).is_none() {
                survey.missing.push(format!("callback {}", member.name));
            }
        }
    }
}
