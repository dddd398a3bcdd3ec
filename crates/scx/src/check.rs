//! Checks made of a program before it runs.
//!
//! This is not a verifier. The kernel's verifier follows every path with all known facts about
//! every value. Here every reachable instruction must exist in the instruction set, use existing
//! registers, and read only registers that were written. Jumps must stay within the section and
//! must not lead into the middle of an instruction. Accesses by the frame pointer must stay in the
//! frame. Everything else is checked at run time. The messages use the kernel's words where it has
//! some.

use crate::bpf::{
    ATOMIC_ADD, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, BPF_ADD, BPF_ALU, BPF_ALU64, BPF_AND, BPF_ARSH,
    BPF_ATOMIC, BPF_CALL, BPF_CMPXCHG, BPF_DIV, BPF_END, BPF_EXIT, BPF_FETCH, BPF_JA, BPF_JCOND,
    BPF_JEQ, BPF_JLT, BPF_JMP, BPF_JMP32, BPF_JSGE, BPF_JSLE, BPF_LD, BPF_LDX, BPF_LOAD_ACQ,
    BPF_LSH, BPF_MEM, BPF_MEMSX, BPF_MOD, BPF_MOV, BPF_MUL, BPF_NEG, BPF_OR, BPF_RSH, BPF_ST,
    BPF_STORE_REL, BPF_STX, BPF_SUB, BPF_XCHG, BPF_XOR, FRAME_POINTER, SIGNED,
};
use crate::insn::{
    CALL, CALL_KFUNC, CALL_LOCAL, EXIT, GOTOL, Insn, JA, LDDW, MAY_GOTO, POISON, SECOND_HALF,
};
use std::ops::Range;

/// Size of a frame, bytes.
pub const FRAME: i32 = 512;

/// A flaw of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// Number of the instruction.
    pub at: usize,
    /// Description of the flaw.
    pub what: String,
}

/// Set of registers: bit r for register r.
type Registers = u16;

/// Register of a result, `r0`.
const RESULT: Registers = 1;

/// Register of a program's context, `r1`.
pub(crate) const CONTEXT: Registers = 0b10;

/// Registers of arguments, `r1` to `r5`.
pub(crate) const ARGUMENTS: Registers = 0b11_1110;

/// Checks all instructions that are reachable from `entry`, where the registers in `given` have
/// values. `section` is the range of instructions that jumps must not leave. Calls of functions of
/// the object are not followed; the numbers of their first instructions are added to `called`.
///
/// # Errors
/// The first flaw found.
pub fn check(
    code: &[Insn],
    section: &Range<usize>,
    entry: usize,
    given: Registers,
    called: &mut Vec<usize>,
) -> Result<(), Flaw> {
    // The registers known to have a value before each instruction. `None`: not reached yet.
    let mut known: Vec<Option<Registers>> = vec![None; section.len()];
    let mut work = vec![(entry, entry, given | 1 << FRAME_POINTER)];
    while let Some((from, at, registers)) = work.pop() {
        if !section.contains(&at) {
            let what = match at == section.end && from + 1 == at {
                true => "last insn is not an exit or jmp".into(),
                false => format!("jump out of range from insn {from} to {at}"),
            };
            return Err(Flaw { at: from, what });
        }
        let insn = code[at];
        let flaw = |what: String| Err(Flaw { at, what });
        let seen = &mut known[at - section.start];
        let registers = match *seen {
            Some(before) if before & registers == before => continue,
            Some(before) => before & registers,
            None => registers,
        };
        *seen = Some(registers);
        if insn.op == SECOND_HALF {
            return Err(Flaw {
                at: from,
                what: format!("jump into the middle of ldimm64 insn {at}"),
            });
        }
        if let Err(what) = form(insn) {
            return flaw(what);
        }
        let (reads, writes) = uses(insn);
        let unread = reads & !registers;
        if unread != 0 {
            return flaw(format!("R{} !read_ok", unread.trailing_zeros()));
        }
        if writes & 1 << FRAME_POINTER != 0 {
            return flaw("frame pointer is read only".into());
        }
        let mut after = registers | writes;
        match insn.op {
            EXIT | POISON => continue,
            CALL | CALL_LOCAL | CALL_KFUNC => {
                after = after & !ARGUMENTS | RESULT;
                if insn.op == CALL_LOCAL {
                    called.push(insn.imm as usize);
                }
            }
            _ => (),
        }
        let by = match insn.op {
            GOTOL => Some(insn.imm),
            JA => Some(i64::from(insn.off)),
            MAY_GOTO => Some(i64::from(insn.off)),
            _ if matches!(insn.class(), BPF_JMP | BPF_JMP32) && !is_call(insn) => {
                Some(i64::from(insn.off))
            }
            _ => None,
        };
        if let Some(by) = by {
            // A target before the first instruction is out of range, like one after the last.
            let target = usize::try_from(at as i64 + 1 + by).unwrap_or(usize::MAX);
            work.push((at, target, after));
            if matches!(insn.op, JA | GOTOL) {
                continue;
            }
        }
        work.push((at, at + if insn.op == LDDW { 2 } else { 1 }, after));
    }
    Ok(())
}

fn is_call(insn: Insn) -> bool {
    matches!(insn.op, CALL | CALL_LOCAL | CALL_KFUNC | EXIT | POISON)
}

/// Checks that the instruction set has such an instruction.
fn form(insn: Insn) -> Result<(), String> {
    let Insn { op, dst, src, off, imm } = insn;
    for register in [dst, src] {
        if register > FRAME_POINTER && op != LDDW {
            return Err(format!("R{register} is invalid"));
        }
    }
    let reserved = |is_used: bool, what: &str| match is_used {
        true => Err(format!("{what} uses reserved fields")),
        false => Ok(()),
    };
    let by_register = insn.is_by_register();
    match insn.class() {
        BPF_ALU | BPF_ALU64 => {
            let wide = insn.class() == BPF_ALU64;
            match insn.operation() {
                BPF_ADD | BPF_SUB | BPF_MUL | BPF_OR | BPF_AND | BPF_XOR => {
                    reserved(off != 0, "BPF_ALU")
                }
                BPF_NEG => reserved(off != 0 || by_register, "BPF_NEG"),
                BPF_DIV | BPF_MOD if !by_register && imm == 0 => Err("div by zero".into()),
                BPF_DIV | BPF_MOD => reserved(off != 0 && off != SIGNED, "BPF_ALU"),
                BPF_LSH | BPF_RSH | BPF_ARSH => {
                    let width = if wide { 64 } else { 32 };
                    if !by_register && !(0..width).contains(&imm) {
                        return Err(format!("invalid shift {imm}"));
                    }
                    reserved(off != 0, "BPF_ALU")
                }
                // Offset 1 casts between address spaces.
                BPF_MOV if by_register => match (wide, off) {
                    (_, 0 | 8 | 16) | (true, 32 | 1) => Ok(()),
                    _ => reserved(true, "BPF_MOV"),
                },
                BPF_MOV => reserved(off != 0, "BPF_MOV"),
                BPF_END => reserved(
                    off != 0 || !matches!(imm, 16 | 32 | 64) || (wide && by_register),
                    "BPF_END",
                ),
                _ => Err(format!("unknown opcode {op:02x}")),
            }
        }
        BPF_JMP | BPF_JMP32 => match insn.operation() {
            _ if matches!(op, CALL_LOCAL | CALL_KFUNC | POISON) => Ok(()),
            BPF_JA => reserved(by_register || src != 0 || dst != 0, "BPF_JA"),
            BPF_CALL if op == CALL => reserved(src != 0, "BPF_CALL"),
            BPF_EXIT if op == EXIT => reserved(src != 0 || dst != 0 || imm != 0, "BPF_EXIT"),
            BPF_JCOND if op == MAY_GOTO => reserved(src != 0 || dst != 0 || imm != 0, "may_goto"),
            BPF_JEQ..=BPF_JSGE | BPF_JLT..=BPF_JSLE => Ok(()),
            _ => Err(format!("unknown opcode {op:02x}")),
        },
        BPF_LD if op == LDDW && dst <= FRAME_POINTER => Ok(()),
        BPF_LD if op == LDDW => Err(format!("R{dst} is invalid")),
        BPF_LDX => match insn.mode() {
            BPF_MEM => frame(insn, src, "read from"),
            // A load of 8 bytes has no sign to extend.
            BPF_MEMSX if insn.width() < 8 => frame(insn, src, "read from"),
            _ => Err(format!("unknown opcode {op:02x}")),
        },
        BPF_ST | BPF_STX if insn.mode() == BPF_MEM => frame(insn, dst, "write to"),
        BPF_STX if insn.mode() == BPF_ATOMIC => {
            let known = match imm {
                BPF_LOAD_ACQ | BPF_STORE_REL => true,
                BPF_XCHG | BPF_CMPXCHG => matches!(insn.width(), 4 | 8),
                imm => {
                    matches!(imm & !BPF_FETCH, ATOMIC_ADD | ATOMIC_OR | ATOMIC_AND | ATOMIC_XOR)
                        && matches!(insn.width(), 4 | 8)
                }
            };
            match known {
                true => frame(insn, if imm == BPF_LOAD_ACQ { src } else { dst }, "write to"),
                false => Err(format!("BPF_ATOMIC uses invalid atomic opcode {imm:02x}")),
            }
        }
        _ => Err(format!("unknown opcode {op:02x}")),
    }
}

/// Checks that accesses by the frame pointer stay in the frame.
fn frame(insn: Insn, base: u8, how: &str) -> Result<(), String> {
    let (off, size) = (insn.off, insn.width());
    if base == FRAME_POINTER && (off < -FRAME || off + size as i32 > 0) {
        return Err(format!("invalid {how} stack R10 off={off} size={size}"));
    }
    Ok(())
}

/// Registers that an instruction reads, and registers that it writes.
fn uses(insn: Insn) -> (Registers, Registers) {
    let (dst, src) = (1_u16 << insn.dst, 1_u16 << insn.src);
    let by_register = insn.is_by_register();
    match insn.class() {
        BPF_ALU | BPF_ALU64 => match insn.operation() {
            BPF_MOV if by_register => (src, dst),
            BPF_MOV => (0, dst),
            BPF_NEG | BPF_END => (dst, dst),
            _ if by_register => (dst | src, dst),
            _ => (dst, dst),
        },
        BPF_JMP | BPF_JMP32 => match insn.op {
            JA | GOTOL | MAY_GOTO | EXIT | POISON | CALL | CALL_LOCAL | CALL_KFUNC => (0, 0),
            _ if by_register => (dst | src, 0),
            _ => (dst, 0),
        },
        BPF_LD => (0, dst),
        BPF_LDX => (src, dst),
        BPF_ST => (dst, 0),
        _ if insn.mode() == BPF_ATOMIC => match insn.imm {
            BPF_LOAD_ACQ => (src, dst),
            BPF_CMPXCHG => (dst | src | RESULT, RESULT),
            imm if imm & BPF_FETCH != 0 => (dst | src, src),
            _ => (dst | src, 0),
        },
        _ => (dst | src, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(op: u8, dst: u8, src: u8, off: i32, imm: i64) -> Insn {
        Insn { op, dst, src, off, imm }
    }

    fn verdict(code: &[Insn]) -> Result<(), String> {
        let all = 0..code.len();
        check(code, &all, 0, 0b10, &mut vec![])
            .map_err(|flaw| format!("{}: {}", flaw.at, flaw.what))
    }

    const STOP: Insn = Insn { op: EXIT, dst: 0, src: 0, off: 0, imm: 0 };

    #[test]
    fn good_code_passes() {
        let loops =
            [insn(0xb7, 0, 0, 0, 3), insn(0x07, 0, 0, 0, -1), insn(0x55, 0, 0, -2, 0), STOP];
        assert_eq!(verdict(&loops), Ok(()));
        let context = [insn(0x79, 0, 1, 8, 0), insn(0x7b, 10, 0, -8, 0), STOP];
        assert_eq!(verdict(&context), Ok(()));
    }

    #[test]
    fn flaws_are_named_in_the_kernels_words() {
        let one = |first: Insn| verdict(&[first, STOP]).expect_err("the code has a flaw");
        assert_eq!(one(insn(0xff, 0, 0, 0, 0)), "0: unknown opcode ff");
        assert_eq!(one(insn(0xb7, 11, 0, 0, 0)), "0: R11 is invalid");
        assert_eq!(one(insn(0xbf, 0, 3, 0, 0)), "0: R3 !read_ok");
        assert_eq!(one(insn(0xb7, 10, 0, 0, 0)), "0: frame pointer is read only");
        assert_eq!(one(insn(0x37, 1, 0, 0, 0)), "0: div by zero");
        assert_eq!(one(insn(0x67, 1, 0, 0, 64)), "0: invalid shift 64");
        assert_eq!(one(insn(0x64, 1, 0, 0, 32)), "0: invalid shift 32");
        assert_eq!(one(insn(0x05, 0, 0, 5, 0)), "0: jump out of range from insn 0 to 6");
        assert!(one(insn(0x05, 0, 0, -3, 0)).contains("jump out of range from insn 0"));
        let far = "0: invalid write to stack R10 off=-520 size=8";
        assert_eq!(one(insn(0x7b, 10, 1, -520, 0)), far);
        assert_eq!(one(insn(0x79, 0, 10, 0, 0)), "0: invalid read from stack R10 off=0 size=8");
        assert_eq!(one(insn(0xdb, 10, 1, -8, 0x33)), "0: BPF_ATOMIC uses invalid atomic opcode 33");
        assert_eq!(
            verdict(&[insn(0xb7, 0, 0, 0, 0)]),
            Err("0: last insn is not an exit or jmp".into())
        );
        let middle =
            [insn(0x05, 0, 0, 1, 0), insn(LDDW, 0, 0, 0, 0), insn(SECOND_HALF, 0, 0, 0, 0), STOP];
        assert_eq!(verdict(&middle), Err("0: jump into the middle of ldimm64 insn 2".into()));
        // Opcodes of internal instructions are not part of the instruction set.
        assert!(one(insn(SECOND_HALF, 0, 0, 0, 0)).contains("middle"));
    }

    #[test]
    fn a_call_spends_its_arguments() {
        let code = [insn(CALL, 0, 0, 0, 5), insn(0xbf, 2, 1, 0, 0), STOP];
        assert_eq!(verdict(&code), Err("1: R1 !read_ok".into()));
        let mut called = vec![];
        let code = [insn(CALL_LOCAL, 0, 0, 0, 2), STOP, STOP];
        assert_eq!(check(&code, &(0..3), 0, 0b10, &mut called), Ok(()));
        assert_eq!(called, [2]);
    }

    #[test]
    fn both_ways_of_a_branch_count() {
        // r0 has a value on one path only.
        let code = [insn(0x15, 1, 0, 1, 0), insn(0xb7, 0, 0, 0, 1), insn(0xbf, 2, 0, 0, 0), STOP];
        assert_eq!(verdict(&code), Err("2: R0 !read_ok".into()));
    }
}
