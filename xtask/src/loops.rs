//! Copies of the event loop in a built program: `cargo xtask loops PROGRAM`, and a test of the
//! program that shares this file.
//!
//! The loop is generic, so each combination of scheduler, workload and observer is separate machine
//! code. The names are read from the symbol table of an ELF file; a stripped program has none.

/// Function of `schedlab_machine` that is one pass of the loop.
const FUNCTION: &str = "run_instant";

/// Maximum number of copies.
pub const COPIES_MAX: usize = 6;

/// Returns the number of copies in an ELF file.
pub fn copies(bytes: &[u8]) -> Result<usize, String> {
    let names = functions(bytes).ok_or("not a 64-bit little-endian ELF file, or a damaged one")?;
    if names.is_empty() {
        return Err("no symbols: build it without `strip`".to_string());
    }
    match names.iter().filter(|name| is_loop(name)).count() {
        0 => Err(format!("no function `{FUNCTION}`: was it renamed?")),
        copies => Ok(copies),
    }
}

/// Whether a mangled name is that of the loop: the last part of its path, by either mangling.
/// Closures within it do not count.
fn is_loop(name: &str) -> bool {
    let part = format!("{}{FUNCTION}", FUNCTION.len());
    let legacy = name.strip_prefix("_ZN").and_then(|_| name.rsplit_once(&part));
    match legacy {
        Some((_, behind)) => behind.starts_with("17h"),
        None => name.starts_with("_R") && v0_path_ends_in(name, &part),
    }
}

/// Whether the path of a name in the v0 mangling ends in `part`: `_RNv` path `part`, or the same
/// with type arguments behind it, `_RINv` path `part` ... `E`.
fn v0_path_ends_in(name: &str, part: &str) -> bool {
    ["_RNv", "_RINv"].iter().any(|start| name.starts_with(start)) && name.contains(part)
}

/// Names of all functions in the symbol table.
fn functions(bytes: &[u8]) -> Option<Vec<String>> {
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let sections = usize::try_from(number(bytes, 0x28, 8)?).ok()?;
    let entry = usize::try_from(number(bytes, 0x3a, 2)?).ok()?;
    let count = usize::try_from(number(bytes, 0x3c, 2)?).ok()?;
    let header = |index: usize| bytes.get(sections + index * entry..)?.get(..0x40);
    let mut names = vec![];
    for index in 0..count {
        let symbols = header(index)?;
        if number(symbols, 4, 4)? != SYMBOL_TABLE {
            continue;
        }
        let strings = content(bytes, header(usize::try_from(number(symbols, 0x28, 4)?).ok()?)?)?;
        for symbol in content(bytes, symbols)?.chunks_exact(SYMBOL_BYTES) {
            if symbol[4] & 0xf == FUNCTION_TYPE && number(symbol, 8, 8)? != 0 {
                let name = strings.get(usize::try_from(number(symbol, 0, 4)?).ok()?..)?;
                let end = name.iter().position(|byte| *byte == 0)?;
                names.push(String::from_utf8_lossy(&name[..end]).into_owned());
            }
        }
    }
    Some(names)
}

/// `SHT_SYMTAB`.
const SYMBOL_TABLE: u64 = 2;

/// `STT_FUNC`.
const FUNCTION_TYPE: u8 = 2;

/// Size of an `Elf64_Sym`.
const SYMBOL_BYTES: usize = 24;

/// Contents of the section with this header.
fn content<'a>(bytes: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    let start = usize::try_from(number(header, 0x18, 8)?).ok()?;
    let size = usize::try_from(number(header, 0x20, 8)?).ok()?;
    bytes.get(start..)?.get(..size)
}

/// Returns the little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.get(..size)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_is_known_by_its_mangled_name() {
        assert!(is_loop("_ZN16schedlab_machine7machine20Machine$LT$S$C$W$GT$11run_instant17h0aE"));
        assert!(is_loop("_RNvMs_NtCs1_16schedlab_machine7machineINtB4_7MachinepE11run_instantB8_"));
        let closure =
            "_ZN16schedlab_machine7machine11run_instant28_$u7b$$u7b$closure$u7d$$u7d$17h0E";
        assert!(!is_loop(closure));
        assert!(!is_loop("_ZN16schedlab_machine7machine17run_instant_later17h0aE"));
    }

    #[test]
    fn functions_are_read_from_an_elf_file() {
        let mut file = vec![0; 0x40 + 3 * 0x40];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x28] = 0x40;
        file[0x3a] = 0x40;
        file[0x3c] = 3;
        let put = |file: &mut Vec<u8>, at: usize, bytes: &[u8]| {
            file[at..at + bytes.len()].copy_from_slice(bytes);
        };
        // Section 1: two symbols, a function and an object; section 2: their names.
        let symbols_at = file.len();
        put(&mut file, 0x80 + 4, &[2]);
        put(&mut file, 0x80 + 0x18, &(symbols_at as u64).to_le_bytes());
        put(&mut file, 0x80 + 0x20, &[48]);
        put(&mut file, 0x80 + 0x28, &[2]);
        put(&mut file, 0xc0 + 4, &[3]);
        put(&mut file, 0xc0 + 0x18, &(symbols_at as u64 + 48).to_le_bytes());
        put(&mut file, 0xc0 + 0x20, &[6]);
        for (name, kind) in [(1, 2), (3, 1)] {
            let mut symbol = [0; SYMBOL_BYTES];
            (symbol[0], symbol[4], symbol[8]) = (name, kind, 1);
            file.extend(symbol);
        }
        file.extend(b"\0f\0ob\0");
        assert_eq!(functions(&file), Some(vec!["f".to_string()]));
        assert_eq!(functions(&file[..file.len() - 1]), None);
        assert_eq!(functions(b"#!/bin/sh"), None);
    }
}
