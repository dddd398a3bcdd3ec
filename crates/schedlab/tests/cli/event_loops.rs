//! Number of copies of the event loop in the program.

#[path = "../../../../xtask/src/loops.rs"]
mod symbols;

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
fn the_machine_is_compiled_for_few_observers() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_schedlab")).unwrap();
    let copies = symbols::copies(&bytes).unwrap();
    assert!(copies <= symbols::COPIES_MAX, "{copies} copies; at most {}", symbols::COPIES_MAX);
}
