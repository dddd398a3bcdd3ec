//! The BPF machine: an interpreter of ISA version 4.
//!
//! A program can access only [`Memory`]. A program that stores elsewhere, runs for too long or
//! nests calls too deeply ends with a [`Fault`] that names the instruction. Instructions, calls of
//! helpers and calls of kernel functions are counted.

use crate::bpf::{
    ATOMIC_ADD, ATOMIC_AND, ATOMIC_OR, BPF_ADD, BPF_ALU, BPF_ALU64, BPF_AND, BPF_ARSH, BPF_ATOMIC,
    BPF_CMPXCHG, BPF_DIV, BPF_END, BPF_FETCH, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JLE, BPF_JLT, BPF_JMP,
    BPF_JNE, BPF_JSET, BPF_JSGE, BPF_JSGT, BPF_JSLT, BPF_LD, BPF_LDX, BPF_LOAD_ACQ, BPF_LSH,
    BPF_MEMSX, BPF_MOD, BPF_MOV, BPF_MUL, BPF_NEG, BPF_OR, BPF_RSH, BPF_ST, BPF_STORE_REL, BPF_STX,
    BPF_SUB, BPF_XCHG, BPF_XOR, FRAME_POINTER, REGISTERS, SIGNED,
};
use crate::check::FRAME;
use crate::insn::{
    CALL, CALL_KFUNC, CALL_LOCAL, EXIT, GOTOL, Insn, JA, LDDW, MAY_GOTO, POISON, SECOND_HALF,
};
use crate::memory::{self, Memory, StoreFault, address};

/// Maximum number of call frames, including the frames of callbacks within helpers.
pub const FRAMES_MAX: usize = 60;

/// Maximum number of instructions of a callback.
pub const BUDGET: u64 = 4_000_000;

/// Size of the register file: a power of two, so that a field of four bits is always an index.
const REGISTER_SLOTS: usize = 16;

/// Bits of a register field.
const REGISTER_MASK: u8 = 15;

/// Size of the region of the stacks, bytes.
pub const STACK_SIZE: usize = (FRAMES_MAX + 1) * FRAME as usize;

/// A fault that ends a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Description of the fault.
    pub what: String,
    /// The instruction. `None` until the interpreter sets it.
    pub at: Option<u32>,
    /// The registers at that instruction.
    pub registers: [u64; REGISTERS],
}

impl Fault {
    /// Makes a fault of the instruction that is being executed.
    pub fn new(what: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { what: what.into(), at: None, registers: [0; REGISTERS] })
    }
}

/// Result of an instruction or a call.
pub type Outcome = Result<u64, Box<Fault>>;

/// A frame to return to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frame {
    pc: usize,
    saved: [u64; 4],
}

/// State of the machine between calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vm {
    /// Its memory.
    pub memory: Memory,
    /// Instructions executed so far.
    pub insns: u64,
    /// Loads from unmapped addresses so far, which gave 0.
    pub probe_faults: u64,
    /// Value of `insns` at which the current callback has used up its budget.
    budget_end: u64,
    frames: Vec<Frame>,
    /// Frames in use: `frames`, and one for each nested run.
    depth: usize,
}

impl Default for Vm {
    fn default() -> Self {
        let mut memory = Memory::default();
        memory.set(memory::STACK, "stack", STACK_SIZE, true);
        let frames = Vec::with_capacity(FRAMES_MAX);
        Vm { memory, insns: 0, probe_faults: 0, budget_end: BUDGET, frames, depth: 0 }
    }
}

impl Vm {
    /// Starts a callback with a new budget.
    pub fn begin(&mut self) {
        self.begin_with(BUDGET);
    }

    /// Starts a callback with the given budget.
    pub fn begin_with(&mut self, budget: u64) {
        self.budget_end = self.insns + budget;
    }

    /// Takes `count` more instructions from the budget, for work that a helper does.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn spend(&mut self, count: u64) -> Result<(), Box<Fault>> {
        self.insns += count;
        if self.insns > self.budget_end { Err(too_long()) } else { Ok(()) }
    }
}

#[cold]
fn too_long() -> Box<Fault> {
    Fault::new(format!("ran for more than {} million instructions", BUDGET / 1_000_000))
}

/// Environment of the machine: the targets of its calls.
pub trait Calls {
    /// Returns the machine itself.
    fn vm(&mut self) -> &mut Vm;

    /// Calls a helper by its number.
    ///
    /// # Errors
    /// If the program cannot continue.
    fn helper(&mut self, number: u32, args: [u64; 5]) -> Outcome;

    /// Calls a kernel function, by its index among those that the object uses.
    ///
    /// # Errors
    /// If the program cannot continue.
    fn kfunc(&mut self, number: u32, args: [u64; 5]) -> Outcome;

    /// Returns the reason why an instruction must not be reached.
    fn poison(&self, reason: usize) -> String;
}

#[cold]
fn store_fault(fault: StoreFault, to: u64, width: usize) -> Box<Fault> {
    Fault::new(match fault {
        StoreFault::NoMemory => {
            format!("stores {width} bytes to {to:#x}, which is unmapped")
        }
        StoreFault::ReadOnly(name) => format!("stores {width} bytes to {name}, which is read-only"),
    })
}

/// Executes the function whose first instruction is `entry`. `code` has passed the
/// [checks](crate::check).
///
/// # Errors
/// The program's fault, and the instruction.
pub fn run<C: Calls>(host: &mut C, code: &[Insn], entry: usize, args: [u64; 5]) -> Outcome {
    let base = host.vm().frames.len();
    let depth = host.vm().depth;
    let mut machine = Execution { registers: [0; REGISTER_SLOTS], pc: entry };
    machine.registers[1..6].copy_from_slice(&args);
    let outcome = match machine.enter(host.vm()) {
        Ok(()) => machine.go_on(host, code, base),
        Err(fault) => Err(fault),
    };
    let vm = host.vm();
    vm.frames.truncate(base);
    vm.depth = depth;
    outcome.map_err(|mut fault| {
        if fault.at.is_none() {
            fault.at = Some(machine.pc as u32);
            fault.registers.copy_from_slice(&machine.registers[..REGISTERS]);
        }
        fault
    })
}

/// A run of the machine.
struct Execution {
    /// 11 registers, in 16 slots so that four bits are always a valid index.
    registers: [u64; REGISTER_SLOTS],
    /// The instruction that is being executed.
    pc: usize,
}

impl Execution {
    /// Begins a new frame.
    fn enter(&mut self, vm: &mut Vm) -> Result<(), Box<Fault>> {
        if vm.depth == FRAMES_MAX {
            return Err(Fault::new(format!("calls are nested more than {FRAMES_MAX} deep")));
        }
        vm.depth += 1;
        self.registers[usize::from(FRAME_POINTER)] =
            address(memory::STACK, (vm.depth as u32 + 1) * FRAME as u32);
        Ok(())
    }

    fn go_on<C: Calls>(&mut self, host: &mut C, code: &[Insn], base: usize) -> Outcome {
        loop {
            let Some(&insn) = code.get(self.pc) else {
                return Err(Fault::new("runs beyond the end of the code"));
            };
            host.vm().insns += 1;
            let dst = usize::from(insn.dst & REGISTER_MASK);
            let src = usize::from(insn.src & REGISTER_MASK);
            match insn.class() {
                BPF_ALU64 => {
                    let b =
                        if insn.is_by_register() { self.registers[src] } else { insn.imm as u64 };
                    self.registers[dst] = alu64(insn, self.registers[dst], b)?;
                }
                BPF_ALU => {
                    let b =
                        if insn.is_by_register() { self.registers[src] } else { insn.imm as u64 };
                    self.registers[dst] = match insn.operation() {
                        BPF_END => swapped(insn, self.registers[dst]),
                        _ => u64::from(alu32(insn, self.registers[dst] as u32, b as u32)?),
                    };
                }
                BPF_LDX => self.load(host.vm(), insn, dst, src),
                BPF_ST => {
                    let to = self.registers[dst].wrapping_add(insn.off as u64);
                    let width = insn.width() as usize;
                    let stored = host.vm().memory.store(to, width, insn.imm as u64);
                    stored.map_err(|fault| store_fault(fault, to, width))?;
                }
                BPF_STX if insn.mode() == BPF_ATOMIC => self.atomic(host.vm(), insn, dst, src)?,
                BPF_STX => {
                    let to = self.registers[dst].wrapping_add(insn.off as u64);
                    let width = insn.width() as usize;
                    let stored = host.vm().memory.store(to, width, self.registers[src]);
                    stored.map_err(|fault| store_fault(fault, to, width))?;
                }
                BPF_LD => {
                    self.registers[dst] = insn.imm as u64;
                    debug_assert_eq!(insn.op, LDDW);
                    self.pc += 1;
                }
                _ => match insn.op {
                    EXIT => {
                        let vm = host.vm();
                        vm.depth -= 1;
                        if vm.frames.len() == base {
                            return Ok(self.registers[0]);
                        }
                        if let Some(frame) = vm.frames.pop() {
                            self.registers[6..10].copy_from_slice(&frame.saved);
                            self.registers[usize::from(FRAME_POINTER)] =
                                address(memory::STACK, (vm.depth as u32 + 1) * FRAME as u32);
                            self.pc = frame.pc;
                        }
                    }
                    CALL | CALL_KFUNC => {
                        let r = &self.registers;
                        let args = [r[1], r[2], r[3], r[4], r[5]];
                        self.registers[0] = match insn.op {
                            CALL => host.helper(insn.imm as u32, args)?,
                            _ => host.kfunc(insn.imm as u32, args)?,
                        };
                        // The checks ensure that a program does not read argument registers after a
                        // call.
                        let vm = host.vm();
                        if vm.insns > vm.budget_end {
                            return Err(too_long());
                        }
                    }
                    CALL_LOCAL => {
                        let vm = host.vm();
                        if vm.insns > vm.budget_end {
                            return Err(too_long());
                        }
                        let mut saved = [0; 4];
                        saved.copy_from_slice(&self.registers[6..10]);
                        let frame = Frame { pc: self.pc, saved };
                        self.enter(vm)?;
                        vm.frames.push(frame);
                        self.pc = insn.imm as usize;
                        continue;
                    }
                    JA | GOTOL => {
                        let by = if insn.op == JA { i64::from(insn.off) } else { insn.imm };
                        self.jump(host.vm(), by)?;
                    }
                    MAY_GOTO => (),
                    POISON => return Err(Fault::new(host.poison(insn.imm as usize))),
                    SECOND_HALF => {
                        return Err(Fault::new("jumps into the middle of an instruction"));
                    }
                    _ => {
                        let a = self.registers[dst];
                        let b = if insn.is_by_register() {
                            self.registers[src]
                        } else {
                            insn.imm as u64
                        };
                        let holds = match insn.class() {
                            BPF_JMP => holds(insn.operation(), a, b),
                            // A 32-bit comparison is a 64-bit comparison of the sign-extended
                            // values, which preserves signed and unsigned order.
                            _ => holds(insn.operation(), widened(a), widened(b)),
                        };
                        if holds {
                            self.jump(host.vm(), i64::from(insn.off))?;
                        }
                    }
                },
            }
            // A jump to the first instruction has set the counter to one before it.
            self.pc = self.pc.wrapping_add(1);
        }
    }

    #[inline]
    fn jump(&mut self, vm: &Vm, by: i64) -> Result<(), Box<Fault>> {
        if by < 0 && vm.insns > vm.budget_end {
            return Err(too_long());
        }
        // The checks ensure that the target exists.
        self.pc = (self.pc as i64 + by) as usize;
        Ok(())
    }

    #[inline]
    fn load(&mut self, vm: &mut Vm, insn: Insn, dst: usize, src: usize) {
        let from = self.registers[src].wrapping_add(insn.off as u64);
        let width = insn.width() as usize;
        let value = vm.memory.load(from, width);
        if value.is_none() {
            vm.probe_faults += 1;
        }
        let value = value.unwrap_or(0);
        let is_signed = insn.mode() == BPF_MEMSX;
        self.registers[dst] = match (is_signed, width) {
            (true, 1) => value as i8 as u64,
            (true, 2) => value as i16 as u64,
            (true, 4) => value as i32 as u64,
            _ => value,
        };
    }

    fn atomic(
        &mut self,
        vm: &mut Vm,
        insn: Insn,
        dst: usize,
        src: usize,
    ) -> Result<(), Box<Fault>> {
        let width = insn.width() as usize;
        if insn.imm == BPF_LOAD_ACQ {
            self.load(vm, insn, dst, src);
            return Ok(());
        }
        let to = self.registers[dst].wrapping_add(insn.off as u64);
        let operand = self.registers[src];
        // A store to an invalid address is a fault before the old value is used.
        let store = |vm: &mut Vm, value| {
            let stored = vm.memory.store(to, width, value);
            stored.map_err(|fault| store_fault(fault, to, width))
        };
        if insn.imm == BPF_STORE_REL {
            return store(vm, operand);
        }
        let old = vm.memory.load(to, width).unwrap_or(0);
        match insn.imm {
            BPF_XCHG => {
                store(vm, operand)?;
                self.registers[src] = old;
            }
            BPF_CMPXCHG => {
                let expected = match width {
                    4 => self.registers[0] & 0xffff_ffff,
                    _ => self.registers[0],
                };
                store(vm, if old == expected { operand } else { old })?;
                self.registers[0] = old;
            }
            imm => {
                let new = match imm & !BPF_FETCH {
                    ATOMIC_ADD => old.wrapping_add(operand),
                    ATOMIC_OR => old | operand,
                    ATOMIC_AND => old & operand,
                    _ => old ^ operand,
                };
                store(vm, new)?;
                if imm & BPF_FETCH != 0 {
                    self.registers[src] = old;
                }
            }
        }
        Ok(())
    }
}

#[inline]
fn widened(value: u64) -> u64 {
    value as u32 as i32 as u64
}

#[inline]
fn alu64(insn: Insn, a: u64, b: u64) -> Outcome {
    let is_signed = insn.off == SIGNED;
    Ok(match insn.operation() {
        BPF_ADD => a.wrapping_add(b),
        BPF_SUB => a.wrapping_sub(b),
        BPF_MUL => a.wrapping_mul(b),
        BPF_DIV if b == 0 => 0,
        BPF_DIV if is_signed => (a as i64).wrapping_div(b as i64) as u64,
        BPF_DIV => a / b,
        BPF_OR => a | b,
        BPF_AND => a & b,
        BPF_LSH => a.wrapping_shl(b as u32),
        BPF_RSH => a.wrapping_shr(b as u32),
        BPF_NEG => a.wrapping_neg(),
        BPF_MOD if b == 0 => a,
        BPF_MOD if is_signed => (a as i64).wrapping_rem(b as i64) as u64,
        BPF_MOD => a % b,
        BPF_XOR => a ^ b,
        BPF_MOV => match insn.off {
            0 => b,
            8 => b as i8 as u64,
            16 => b as i16 as u64,
            32 => b as i32 as u64,
            // A cast between address spaces, in either direction: the arena has only one address
            // here.
            _ if b as u32 == 0 => 0,
            _ => address(memory::ARENA, b as u32),
        },
        BPF_ARSH => (a as i64).wrapping_shr(b as u32) as u64,
        _ => match insn.imm {
            16 => u64::from((a as u16).swap_bytes()),
            32 => u64::from((a as u32).swap_bytes()),
            _ => a.swap_bytes(),
        },
    })
}

#[inline]
fn alu32(insn: Insn, a: u32, b: u32) -> Result<u32, Box<Fault>> {
    let is_signed = insn.off == SIGNED;
    Ok(match insn.operation() {
        BPF_ADD => a.wrapping_add(b),
        BPF_SUB => a.wrapping_sub(b),
        BPF_MUL => a.wrapping_mul(b),
        BPF_DIV if b == 0 => 0,
        BPF_DIV if is_signed => (a as i32).wrapping_div(b as i32) as u32,
        BPF_DIV => a / b,
        BPF_OR => a | b,
        BPF_AND => a & b,
        BPF_LSH => a.wrapping_shl(b),
        BPF_RSH => a.wrapping_shr(b),
        BPF_NEG => a.wrapping_neg(),
        BPF_MOD if b == 0 => a,
        BPF_MOD if is_signed => (a as i32).wrapping_rem(b as i32) as u32,
        BPF_MOD => a % b,
        BPF_XOR => a ^ b,
        BPF_MOV => match insn.off {
            8 => b as i8 as u32,
            16 => b as i16 as u32,
            _ => b,
        },
        _ => (a as i32).wrapping_shr(b) as u32,
    })
}

/// Implements `le` and `be`: returns the low bytes in the given order. The machine is
/// little-endian.
fn swapped(insn: Insn, a: u64) -> u64 {
    let to_big = insn.is_by_register();
    match (insn.imm, to_big) {
        (16, true) => u64::from((a as u16).swap_bytes()),
        (32, true) => u64::from((a as u32).swap_bytes()),
        (_, true) => a.swap_bytes(),
        (16, false) => u64::from(a as u16),
        (32, false) => u64::from(a as u32),
        (_, false) => a,
    }
}

#[inline]
fn holds(operation: u8, a: u64, b: u64) -> bool {
    match operation {
        BPF_JEQ => a == b,
        BPF_JGT => a > b,
        BPF_JGE => a >= b,
        BPF_JSET => a & b != 0,
        BPF_JNE => a != b,
        BPF_JSGT => a as i64 > b as i64,
        BPF_JSGE => a as i64 >= b as i64,
        BPF_JLT => a < b,
        BPF_JLE => a <= b,
        BPF_JSLT => (a as i64) < b as i64,
        _ => a as i64 <= b as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::FIRST_FREE;

    /// A machine with a helper that adds its arguments, and a kernel function that calls back.
    struct Bare {
        vm: Vm,
        code: Vec<Insn>,
    }

    impl Calls for Bare {
        fn vm(&mut self) -> &mut Vm {
            &mut self.vm
        }
        fn helper(&mut self, number: u32, args: [u64; 5]) -> Outcome {
            match number {
                1 => Ok(args.iter().fold(0, |sum: u64, &arg| sum.wrapping_add(arg))),
                number => Err(Fault::new(format!("helper {number} is not emulated"))),
            }
        }
        fn kfunc(&mut self, _number: u32, args: [u64; 5]) -> Outcome {
            let code = self.code.clone();
            run(self, &code, args[0] as usize, [args[1], 0, 0, 0, 0])
        }
        fn poison(&self, reason: usize) -> String {
            format!("reason {reason}")
        }
    }

    fn insn(op: u8, dst: u8, src: u8, off: i32, imm: i64) -> Insn {
        Insn { op, dst, src, off, imm }
    }

    const STOP: Insn = Insn { op: EXIT, dst: 0, src: 0, off: 0, imm: 0 };

    fn machine(code: &[Insn]) -> Bare {
        let mut bare = Bare { vm: Vm::default(), code: code.to_vec() };
        bare.vm.memory.add(".bss", vec![0; 64], true);
        bare.vm.memory.add(".rodata", vec![0xff; 16], false);
        bare
    }

    fn execute(code: &[Insn], args: [u64; 5]) -> Outcome {
        run(&mut machine(code), code, 0, args)
    }

    /// Computes r0 = the result of `op` on r1 and r2.
    fn binary(op: u8, off: i32, a: u64, b: u64) -> u64 {
        let code = [insn(op, 1, 2, off, 0), insn(0xbf, 0, 1, 0, 0), STOP];
        execute(&code, [a, b, 0, 0, 0]).expect("the program has no fault")
    }

    #[test]
    fn arithmetic_of_64_and_of_32_bits() {
        let min = i64::MIN as u64;
        let minus = |value: i64| -value as u64;
        // Operation, offset, left, right, result.
        let table: &[(u8, i32, u64, u64, u64)] = &[
            (0x0f, 0, u64::MAX, 2, 1),
            (0x0c, 0, 0xffff_ffff, 2, 1),
            (0x1f, 0, 1, 2, u64::MAX),
            (0x1c, 0, 1, 2, 0xffff_ffff),
            (0x2f, 0, 1 << 63, 2, 0),
            (0x2c, 0, 0x1_0000_0003, 5, 15),
            (0x3f, 0, u64::MAX, 2, u64::MAX / 2),
            (0x3f, 0, 7, 0, 0),
            (0x3f, 1, minus(7), 2, minus(3)),
            (0x3f, 1, min, u64::MAX, min),
            (0x3c, 0, 0xffff_fffe, 2, 0x7fff_ffff),
            (0x3c, 0, 7, 1 << 32, 0),
            (0x3c, 1, 0xffff_fff9, 2, 0xffff_fffd),
            (0x3c, 1, 0x8000_0000, 0xffff_ffff, 0x8000_0000),
            (0x9f, 0, 7, 4, 3),
            (0x9f, 0, 7, 0, 7),
            (0x9f, 1, minus(7), 4, minus(3)),
            (0x9f, 1, min, u64::MAX, 0),
            (0x9c, 0, 0x1_0000_0007, 0, 7),
            (0x9c, 1, 0xffff_fff9, 4, 0xffff_fffd),
            (0x4f, 0, 0b1100, 0b1010, 0b1110),
            (0x5f, 0, 0b1100, 0b1010, 0b1000),
            (0xaf, 0, 0b1100, 0b1010, 0b0110),
            (0xac, 0, u64::MAX, 0, 0xffff_ffff),
            (0x6f, 0, 1, 65, 2),
            (0x6c, 0, 1, 33, 2),
            (0x7f, 0, 1 << 63, 63, 1),
            (0x7c, 0, 0xffff_ffff, 4, 0x0fff_ffff),
            (0xcf, 0, min, 63, u64::MAX),
            (0xcc, 0, 0x8000_0000, 31, 0xffff_ffff),
            (0xbf, 0, 9, 5, 5),
            (0xbf, 8, 0, 0x80, minus(128)),
            (0xbf, 16, 0, 0x8000, minus(32768)),
            (0xbf, 32, 0, 0x8000_0000, min >> 32 | 0xffff_ffff_0000_0000),
            (0xbc, 0, 0, u64::MAX, 0xffff_ffff),
            (0xbc, 8, 0, 0x80, 0xffff_ff80),
            (0xbc, 16, 0, 0x8000, 0xffff_8000),
        ];
        for &(op, off, a, b, result) in table {
            assert_eq!(binary(op, off, a, b), result, "{op:#x} {off} of {a:#x} and {b:#x}");
        }
        assert_eq!(binary(0x87, 0, 5, 0), minus(5));
        assert_eq!(binary(0x84, 0, 5, 0), 0xffff_fffb);
    }

    #[test]
    fn constants_are_widened_with_their_sign() {
        let code = [insn(0xb7, 0, 0, 0, -1), insn(0x57, 0, 0, 0, -2), STOP];
        assert_eq!(execute(&code, [0; 5]), Ok(u64::MAX - 1));
        let code = [insn(0xb4, 0, 0, 0, -1), STOP];
        assert_eq!(execute(&code, [0; 5]), Ok(0xffff_ffff));
        let code = [insn(LDDW, 0, 0, 0, i64::MIN + 5), insn(SECOND_HALF, 0, 0, 0, 0), STOP];
        assert_eq!(execute(&code, [0; 5]), Ok((1 << 63) + 5));
    }

    #[test]
    fn bytes_are_put_in_order() {
        let swap = |op, bits| {
            let code = [insn(op, 1, 0, 0, bits), insn(0xbf, 0, 1, 0, 0), STOP];
            execute(&code, [0x0102_0304_0506_0708, 0, 0, 0, 0]).expect("the program has no fault")
        };
        assert_eq!(swap(0xd4, 16), 0x0708);
        assert_eq!(swap(0xd4, 64), 0x0102_0304_0506_0708);
        assert_eq!(swap(0xdc, 16), 0x0807);
        assert_eq!(swap(0xdc, 32), 0x0807_0605);
        assert_eq!(swap(0xdc, 64), 0x0807_0605_0403_0201);
        assert_eq!(swap(0xd7, 32), 0x0807_0605);
        assert_eq!(swap(0xd7, 64), 0x0807_0605_0403_0201);
    }

    #[test]
    fn comparisons_of_64_and_of_32_bits() {
        let taken = |op: u8, a: u64, b: u64| {
            let yes = insn(0xb7, 0, 0, 0, 1);
            let code = [insn(op, 1, 2, 2, 0), insn(0xb7, 0, 0, 0, 0), STOP, yes, STOP];
            execute(&code, [a, b, 0, 0, 0]) == Ok(1)
        };
        let minus_1 = u64::MAX;
        // 64-bit operation, left, right, whether it holds in 64 bits and in 32 bits.
        let table: &[(u8, u64, u64, bool, bool)] = &[
            (0x1d, 1 << 32, 0, false, true),
            (0x5d, 1 << 32, 0, true, false),
            (0x2d, minus_1, 1, true, true),
            (0x2d, 1 << 32, 1, true, false),
            (0x3d, 1, 1, true, true),
            (0x4d, 1 << 40, 1 << 40, true, false),
            (0x4d, 6, 2, true, true),
            (0x6d, minus_1, 1, false, false),
            (0x6d, 0x8000_0000, 1, true, false),
            (0x7d, 1, minus_1, true, true),
            (0xad, 1, minus_1, true, true),
            (0xbd, 0x8000_0000, 0x7fff_ffff, false, false),
            (0xcd, minus_1, 1, true, true),
            (0xdd, 0x8000_0000, 1, false, true),
            (0xdd, 1, 1, true, true),
        ];
        for &(op, a, b, wide, narrow) in table {
            assert_eq!(taken(op, a, b), wide, "{op:#x} of {a:#x} and {b:#x}");
            assert_eq!(taken(op & !7 | 6, a, b), narrow, "32 bits: {op:#x} of {a:#x} and {b:#x}");
        }
    }

    #[test]
    fn memory_is_loaded_and_stored_in_all_widths() {
        let data = address(FIRST_FREE, 0);
        let code = [
            insn(0x7a, 1, 0, 0, -2),
            insn(0x72, 1, 0, 8, 0x80),
            insn(0x63, 1, 2, 12, 0),
            insn(0x71, 3, 1, 8, 0),
            insn(0x91, 4, 1, 8, 0),
            insn(0x81, 5, 1, 0, 0),
            insn(0x69, 0, 1, 12, 0),
            insn(0x0f, 0, 3, 0, 0),
            insn(0x0f, 0, 4, 0, 0),
            insn(0x0f, 0, 5, 0, 0),
            STOP,
        ];
        let expected = 0x4321_u64.wrapping_add(0x80).wrapping_add(-128_i64 as u64);
        let expected = expected.wrapping_add(-2_i64 as u64);
        assert_eq!(execute(&code, [data, 0x8765_4321, 0, 0, 0]), Ok(expected));
    }

    #[test]
    fn loads_from_no_memory_give_0_and_are_counted() {
        let code = [insn(0x79, 0, 1, 16, 0), STOP];
        let mut bare = machine(&code);
        assert_eq!(run(&mut bare, &code, 0, [0; 5]), Ok(0));
        assert_eq!(bare.vm.probe_faults, 1);
    }

    #[test]
    fn stores_to_no_memory_and_to_constants_are_faults() {
        let code = [insn(0xb7, 2, 0, 0, 7), insn(0x7b, 1, 2, 8, 0), STOP];
        let fault =
            execute(&code, [address(FIRST_FREE, 60), 0, 0, 0, 0]).expect_err("the program faults");
        assert_eq!(fault.what, "stores 8 bytes to 0x1000000044, which is unmapped");
        assert_eq!((fault.at, fault.registers[2]), (Some(1), 7));
        let fault = execute(&code, [address(FIRST_FREE + 1, 0), 0, 0, 0, 0])
            .expect_err("the program faults");
        assert_eq!(fault.what, "stores 8 bytes to .rodata, which is read-only");
        let code = [insn(0xdb, 1, 2, 0, 0xe1), STOP];
        assert!(execute(&code, [0; 5]).is_err(), "an atomic store");
    }

    #[test]
    fn atomic_operations() {
        let data = address(FIRST_FREE, 8);
        // Operation, width, old value, operand, r0 -> new value, operand register, r0.
        type Row = (i64, u8, u64, u64, u64, u64, u64, u64);
        let table: &[Row] = &[
            (0x00, 0xdb, 5, 3, 0, 8, 3, 0),
            (0x01, 0xdb, 5, 3, 0, 8, 5, 0),
            (0x41, 0xdb, 0b100, 1, 0, 0b101, 0b100, 0),
            (0x51, 0xdb, 0b110, 0b011, 0, 0b010, 0b110, 0),
            (0xa1, 0xdb, 0b110, 0b011, 0, 0b101, 0b110, 0),
            (0xe1, 0xdb, 5, 3, 0, 3, 5, 0),
            (0xf1, 0xdb, 5, 3, 5, 3, 3, 5),
            (0xf1, 0xdb, 5, 3, 4, 5, 3, 5),
            (0x01, 0xc3, 0x1_ffff_ffff, 1, 0, 0x1_0000_0000, 0xffff_ffff, 0),
            (0xf1, 0xc3, 0x9_0000_0005, 3, 0x7_0000_0005, 0x9_0000_0003, 3, 5),
            (0x110, 0xdb, 5, 3, 0, 3, 3, 0),
        ];
        for &(imm, op, there, operand, r0, after, register, r0_after) in table {
            let code =
                [insn(0xbf, 0, 3, 0, 0), insn(op, 1, 2, 8, imm), insn(0x7b, 1, 2, 16, 0), STOP];
            let mut bare = machine(&code);
            bare.vm.memory.write(data, 8, there);
            let result = run(&mut bare, &code, 0, [data - 8, operand, r0, 0, 0]);
            let at = |offset| bare.vm.memory.u64(data + offset);
            assert_eq!((at(0), at(8)), (after, register), "{imm:#x} {op:#x}");
            assert_eq!(result, Ok(r0_after), "{imm:#x} {op:#x}");
        }
        let code = [insn(0xd3, 0, 1, 8, 0x100), STOP];
        let mut bare = machine(&code);
        bare.vm.memory.write(data, 8, 0x1ff);
        assert_eq!(run(&mut bare, &code, 0, [data - 8, 0, 0, 0, 0]), Ok(0xff), "load-acquire");
    }

    #[test]
    fn calls_keep_the_callers_registers_and_frames() {
        // main: r6 = 7, [r10-8] = 1, r0 = f(r1) + r6 + [r10-8]; f: [r10-8] = 100, r6 = 0, r0 = r1.
        let code = [
            insn(0xb7, 6, 0, 0, 7),
            insn(0x7a, 10, 0, -8, 1),
            insn(CALL_LOCAL, 0, 0, 0, 7),
            insn(0x0f, 0, 6, 0, 0),
            insn(0x79, 1, 10, -8, 0),
            insn(0x0f, 0, 1, 0, 0),
            STOP,
            insn(0x7a, 10, 0, -8, 100),
            insn(0xb7, 6, 0, 0, 0),
            insn(0xbf, 0, 1, 0, 0),
            STOP,
        ];
        assert_eq!(execute(&code, [30, 0, 0, 0, 0]), Ok(38));
    }

    #[test]
    fn helpers_and_callbacks_within_kernel_functions() {
        let code = [insn(CALL, 0, 0, 0, 1), STOP];
        assert_eq!(execute(&code, [1, 2, 3, 4, 5]), Ok(15));
        let code = [insn(CALL, 0, 0, 0, 99), STOP];
        assert_eq!(
            execute(&code, [0; 5]).expect_err("the program faults").what,
            "helper 99 is not emulated"
        );
        // The kernel function runs the function at instruction 2 with 41.
        let code = [
            insn(CALL_KFUNC, 0, 0, 0, 0),
            STOP,
            insn(0xbf, 0, 1, 0, 0),
            insn(0x07, 0, 0, 0, 1),
            STOP,
        ];
        assert_eq!(execute(&code, [2, 41, 0, 0, 0]), Ok(42));
    }

    #[test]
    fn endless_loops_and_endless_calls_end() {
        let code = [insn(0xb7, 0, 0, 0, 0), insn(JA, 0, 0, -1, 0)];
        let fault = execute(&code, [0; 5]).expect_err("the program faults");
        assert_eq!(
            (fault.what.as_str(), fault.at),
            ("ran for more than 4 million instructions", Some(1))
        );
        let code = [insn(GOTOL, 0, 0, 0, -1)];
        assert!(execute(&code, [0; 5]).is_err());
        let code = [insn(CALL_LOCAL, 0, 0, 0, 0), STOP];
        let fault = execute(&code, [0; 5]).expect_err("the program faults");
        assert_eq!(fault.what, "calls are nested more than 60 deep");
        let code = [insn(CALL_KFUNC, 0, 0, 0, 0), STOP];
        let fault = execute(&code, [0; 5]).expect_err("the program faults");
        assert_eq!(fault.what, "calls are nested more than 60 deep");
        let mut bare = machine(&code);
        assert!(run(&mut bare, &code, 0, [0; 5]).is_err());
        assert_eq!((bare.vm.depth, bare.vm.frames.len()), (0, 0), "the state is restored");
    }

    #[test]
    fn poison_is_a_fault_when_it_is_reached() {
        let code = [insn(0x15, 1, 0, 1, 0), Insn::poison(3), insn(0xb7, 0, 0, 0, 0), STOP];
        assert_eq!(execute(&code, [0; 5]), Ok(0));
        assert_eq!(
            execute(&code, [1, 0, 0, 0, 0]).expect_err("the program faults").what,
            "reason 3"
        );
    }

    #[test]
    fn may_goto_falls_through() {
        let code = [insn(0xb7, 0, 0, 0, 4), insn(MAY_GOTO, 0, 0, 1, 0), STOP, STOP];
        assert_eq!(execute(&code, [0; 5]), Ok(4));
    }
}
