//! Decoded instructions of the BPF machine (ISA version 4).
//!
//! A slot of 8 bytes becomes one [`Insn`], so that jump offsets stay valid. The second half of a
//! 64-bit load becomes [`SECOND_HALF`], which must not be a jump target.

use crate::bpf::{
    BPF_B, BPF_CALL, BPF_DW, BPF_EXIT, BPF_H, BPF_IMM, BPF_JA, BPF_JCOND, BPF_JMP, BPF_JMP32,
    BPF_LD, BPF_LDX, BPF_STX, BPF_W, BPF_X, CLASS, MODE, OPERATION, SIZE, SLOT,
};
use crate::elf::Bytes;

/// `lddw`: a load of a 64-bit constant; two slots.
pub const LDDW: u8 = BPF_LD | BPF_IMM | BPF_DW;
/// `call`. The source register selects the kind: 0 a helper, 1 a function of the object, 2 a kernel
/// function.
pub const CALL: u8 = BPF_JMP | BPF_CALL;
/// `exit`.
pub const EXIT: u8 = BPF_JMP | BPF_EXIT;
/// `ja`: a jump by the offset.
pub const JA: u8 = BPF_JMP | BPF_JA;
/// `gotol`: a jump by the constant.
pub const GOTOL: u8 = BPF_JMP32 | BPF_JA;
/// `may_goto`: a jump that leaves a loop which ran for too long. Never taken here: the instruction
/// budget ends such loops.
pub const MAY_GOTO: u8 = BPF_JMP | BPF_JCOND;

/// Internal: a call of a function of the object. The constant is the number of its first
/// instruction. (The instruction set assigns neither this opcode nor the next three.)
pub const CALL_LOCAL: u8 = BPF_JMP32 | BPF_CALL;
/// Internal: a call of a kernel function. The constant is its number in the table.
pub const CALL_KFUNC: u8 = BPF_JMP32 | BPF_EXIT;
/// Internal: an instruction that must not be reached. The constant is the number of the reason.
pub const POISON: u8 = BPF_JMP32 | BPF_CALL | BPF_X;
/// Internal: the second half of [`LDDW`].
pub const SECOND_HALF: u8 = BPF_JMP32 | BPF_EXIT | BPF_X;

/// An opcode that the instruction set does not assign.
const UNKNOWN: u8 = 0xff;

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Insn {
    /// Opcode.
    pub op: u8,
    /// The register that is written or compared.
    pub dst: u8,
    /// The other register.
    pub src: u8,
    /// The offset of an access or a jump.
    pub off: i32,
    /// The constant, sign-extended. All 64 bits of it for [`LDDW`].
    pub imm: i64,
}

impl Insn {
    /// Makes an instruction that must not be reached, for the given reason.
    pub fn poison(reason: usize) -> Insn {
        Insn { op: POISON, dst: 0, src: 0, off: 0, imm: reason as i64 }
    }

    /// Returns its class.
    #[inline]
    pub fn class(self) -> u8 {
        self.op & CLASS
    }

    /// Returns the operation of an arithmetic or jump instruction.
    #[inline]
    pub(crate) fn operation(self) -> u8 {
        self.op & OPERATION
    }

    /// Returns the mode of a load or store.
    #[inline]
    pub(crate) fn mode(self) -> u8 {
        self.op & MODE
    }

    /// Whether the second operand of an arithmetic or jump instruction is the source register.
    #[inline]
    pub(crate) fn is_by_register(self) -> bool {
        self.op & BPF_X != 0
    }

    /// Whether it loads or stores.
    pub fn is_memory(self) -> bool {
        matches!(self.class(), BPF_LDX..=BPF_STX)
    }

    /// Returns the number of bytes that it loads or stores.
    #[inline]
    pub fn width(self) -> u32 {
        match self.op & SIZE {
            BPF_W => 4,
            BPF_H => 2,
            BPF_B => 1,
            _ => 8,
        }
    }

    /// Returns the instruction with another width of its access: 1, 2, 4 or 8. `None` for other
    /// widths.
    pub fn with_width(mut self, bytes: u32) -> Option<Insn> {
        let bits = match bytes {
            1 => BPF_B,
            2 => BPF_H,
            4 => BPF_W,
            8 => BPF_DW,
            _ => return None,
        };
        self.op = self.op & !SIZE | bits;
        Some(self)
    }
}

/// Decodes a section of code.
///
/// # Errors
/// The number of the slot that is cut short, or of a 64-bit load whose second half is missing.
pub fn decode(bytes: &[u8]) -> Result<Vec<Insn>, usize> {
    let mut insns: Vec<Insn> = Vec::with_capacity(bytes.len() / SLOT);
    let slots = Bytes(bytes);
    while insns.len() * SLOT < bytes.len() {
        let at = (insns.len() * SLOT) as u64;
        let slot = slots.slice(at, SLOT as u64).ok_or(insns.len())?;
        let off = i32::from(i16::from_le_bytes([slot[2], slot[3]]));
        let imm = i64::from(i32::from_le_bytes([slot[4], slot[5], slot[6], slot[7]]));
        let mut insn = Insn { op: slot[0], dst: slot[1] & 15, src: slot[1] >> 4, off, imm };
        if insn.op != LDDW {
            // Opcodes of internal instructions are not part of the instruction set.
            if matches!(insn.op, CALL_LOCAL | CALL_KFUNC | POISON | SECOND_HALF) {
                insn.op = UNKNOWN;
            }
            insns.push(insn);
            continue;
        }
        let high =
            slots.u32(at + 12).filter(|_| slots.u32(at + 8) == Some(0)).ok_or(insns.len())?;
        insn.imm = (u64::from(high) << 32 | u64::from(imm as u32)) as i64;
        insns.push(insn);
        insns.push(Insn { op: SECOND_HALF, dst: 0, src: 0, off: 0, imm: 0 });
    }
    Ok(insns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_kept_and_wide_constants_are_whole() {
        let mut bytes = vec![0x18, 0x21, 0, 0, 0xef, 0xbe, 0xad, 0xde];
        bytes.extend([0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12]);
        bytes.extend([0x79, 0x12, 0xf8, 0xff, 0, 0, 0, 0]);
        let insns = decode(&bytes).expect("the code is valid");
        assert_eq!(insns.len(), 3);
        assert_eq!((insns[0].dst, insns[0].src, insns[0].imm), (1, 2, 0x1234_5678_dead_beef));
        assert_eq!(insns[1].op, SECOND_HALF);
        assert_eq!((insns[2].dst, insns[2].src, insns[2].off), (2, 1, -8));
        assert_eq!((insns[2].is_memory(), insns[2].width()), (true, 8));
        let narrow = insns[2].with_width(4).expect("4-byte loads exist");
        assert_eq!((narrow.op, narrow.width()), (0x61, 4));
        assert_eq!(insns[2].with_width(16), None);
    }

    #[test]
    fn code_that_is_cut_short_is_refused() {
        assert_eq!(decode(&[0x95, 0, 0]), Err(0));
        assert_eq!(decode(&[0x18, 0, 0, 0, 0, 0, 0, 0]), Err(0), "half a load");
        let mut bytes = vec![0x95, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([0x18, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decode(&bytes), Err(1), "its second half is an instruction");
        assert_eq!(decode(&[]), Ok(vec![]));
    }
}
