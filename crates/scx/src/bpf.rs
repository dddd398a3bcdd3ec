//! Constants of the BPF instruction set, by their names in RFC 9669.
//!
//! An opcode of 8 bits has the class in its low three bits. Opcodes of arithmetic and jump
//! instructions add the source (one bit) and the operation (four bits). Opcodes of loads and stores
//! add the size (two bits) and the mode (three bits).

/// Bits of an opcode that hold the class.
pub(crate) const CLASS: u8 = 0x07;
/// Class: non-standard loads.
pub(crate) const BPF_LD: u8 = 0x00;
/// Class: loads into a register.
pub(crate) const BPF_LDX: u8 = 0x01;
/// Class: stores of a constant.
pub(crate) const BPF_ST: u8 = 0x02;
/// Class: stores from a register, and atomic operations.
pub(crate) const BPF_STX: u8 = 0x03;
/// Class: 32-bit arithmetic.
pub(crate) const BPF_ALU: u8 = 0x04;
/// Class: jumps, and comparisons of 64 bits.
pub(crate) const BPF_JMP: u8 = 0x05;
/// Class: comparisons of 32 bits.
pub(crate) const BPF_JMP32: u8 = 0x06;
/// Class: 64-bit arithmetic.
pub(crate) const BPF_ALU64: u8 = 0x07;

/// Source: the register, not the constant. (For `BPF_END`: to big-endian, not little-endian.)
pub(crate) const BPF_X: u8 = 0x08;

/// Bits of an opcode that hold the operation of an arithmetic or jump instruction.
pub(crate) const OPERATION: u8 = 0xf0;
/// Addition.
pub(crate) const BPF_ADD: u8 = 0x00;
/// Subtraction.
pub(crate) const BPF_SUB: u8 = 0x10;
/// Multiplication.
pub(crate) const BPF_MUL: u8 = 0x20;
/// Division, signed with offset 1.
pub(crate) const BPF_DIV: u8 = 0x30;
/// Bitwise or.
pub(crate) const BPF_OR: u8 = 0x40;
/// Bitwise and.
pub(crate) const BPF_AND: u8 = 0x50;
/// Left shift.
pub(crate) const BPF_LSH: u8 = 0x60;
/// Logical right shift.
pub(crate) const BPF_RSH: u8 = 0x70;
/// Negation.
pub(crate) const BPF_NEG: u8 = 0x80;
/// Remainder, signed with offset 1.
pub(crate) const BPF_MOD: u8 = 0x90;
/// Bitwise exclusive or.
pub(crate) const BPF_XOR: u8 = 0xa0;
/// Move, sign-extending with offset 8, 16 or 32.
pub(crate) const BPF_MOV: u8 = 0xb0;
/// Arithmetic right shift.
pub(crate) const BPF_ARSH: u8 = 0xc0;
/// Byte swap.
pub(crate) const BPF_END: u8 = 0xd0;

/// Jump.
pub(crate) const BPF_JA: u8 = 0x00;
/// Jump if equal.
pub(crate) const BPF_JEQ: u8 = 0x10;
/// Jump if greater, unsigned.
pub(crate) const BPF_JGT: u8 = 0x20;
/// Jump if greater or equal, unsigned.
pub(crate) const BPF_JGE: u8 = 0x30;
/// Jump if any bit is common.
pub(crate) const BPF_JSET: u8 = 0x40;
/// Jump if not equal.
pub(crate) const BPF_JNE: u8 = 0x50;
/// Jump if greater, signed.
pub(crate) const BPF_JSGT: u8 = 0x60;
/// Jump if greater or equal, signed.
pub(crate) const BPF_JSGE: u8 = 0x70;
/// Call.
pub(crate) const BPF_CALL: u8 = 0x80;
/// Return.
pub(crate) const BPF_EXIT: u8 = 0x90;
/// Jump if less, unsigned.
pub(crate) const BPF_JLT: u8 = 0xa0;
/// Jump if less or equal, unsigned.
pub(crate) const BPF_JLE: u8 = 0xb0;
/// Jump if less, signed.
pub(crate) const BPF_JSLT: u8 = 0xc0;
/// Jump if less or equal, signed.
pub(crate) const BPF_JSLE: u8 = 0xd0;
/// Conditional jump (`may_goto`). An extension of the kernel's.
pub(crate) const BPF_JCOND: u8 = 0xe0;

/// Bits of an opcode that hold the size of a load or store.
pub(crate) const SIZE: u8 = 0x18;
/// Size: 4 bytes.
pub(crate) const BPF_W: u8 = 0x00;
/// Size: 2 bytes.
pub(crate) const BPF_H: u8 = 0x08;
/// Size: 1 byte.
pub(crate) const BPF_B: u8 = 0x10;
/// Size: 8 bytes.
pub(crate) const BPF_DW: u8 = 0x18;

/// Bits of an opcode that hold the mode of a load or store.
pub(crate) const MODE: u8 = 0xe0;
/// Mode: a 64-bit constant.
pub(crate) const BPF_IMM: u8 = 0x00;
/// Mode: regular.
pub(crate) const BPF_MEM: u8 = 0x60;
/// Mode: a sign-extending load.
pub(crate) const BPF_MEMSX: u8 = 0x80;
/// Mode: an atomic operation.
pub(crate) const BPF_ATOMIC: u8 = 0xc0;

/// Atomic operation, as constants are encoded: addition.
pub(crate) const ATOMIC_ADD: i64 = BPF_ADD as i64;
/// Atomic operation: bitwise or.
pub(crate) const ATOMIC_OR: i64 = BPF_OR as i64;
/// Atomic operation: bitwise and.
pub(crate) const ATOMIC_AND: i64 = BPF_AND as i64;
/// Atomic operation: bitwise exclusive or.
pub(crate) const ATOMIC_XOR: i64 = BPF_XOR as i64;
/// Flag of an atomic operation that returns the old value.
pub(crate) const BPF_FETCH: i64 = 0x01;
/// Atomic exchange.
pub(crate) const BPF_XCHG: i64 = 0xe0 | BPF_FETCH;
/// Atomic compare and exchange.
pub(crate) const BPF_CMPXCHG: i64 = 0xf0 | BPF_FETCH;
/// Load with acquire semantics. An extension of the kernel's.
pub(crate) const BPF_LOAD_ACQ: i64 = 0x100;
/// Store with release semantics. An extension of the kernel's.
pub(crate) const BPF_STORE_REL: i64 = 0x110;

/// Source register of a call: a helper, by its number.
pub(crate) const CALL_HELPER: u8 = 0;
/// Source register of a call: a function of the object, relative to the instruction.
pub(crate) const BPF_PSEUDO_CALL: u8 = 1;

/// Offset of a signed division or remainder.
pub(crate) const SIGNED: i32 = 1;

/// Number of registers, `r0` to `r10`.
pub(crate) const REGISTERS: usize = 11;
/// Register of the frame pointer, which is read-only.
pub(crate) const FRAME_POINTER: u8 = 10;

/// Size of an instruction slot in bytes.
pub(crate) const SLOT: usize = 8;
