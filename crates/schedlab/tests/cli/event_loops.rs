//! Number of copies of the event loop in the program.

#[path = "../../../../xtask/src/loops.rs"]
mod loops;

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
fn the_machine_is_compiled_for_few_observers() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_schedlab")).unwrap();
    let copies = loops::copies(&bytes).unwrap();
    assert!(copies <= loops::COPIES_MAX, "{copies} copies; at most {}", loops::COPIES_MAX);
}
