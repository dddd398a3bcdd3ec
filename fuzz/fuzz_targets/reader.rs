//! The reader that `SCHEDLAB_READER` names, for libFuzzer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_fuzz::readers::{self, Reader};
use std::sync::OnceLock;

static READER: OnceLock<&'static Reader> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let reader = READER.get_or_init(|| {
        let name = std::env::var("SCHEDLAB_READER").expect("SCHEDLAB_READER names a reader");
        readers::find(&name).expect("there is such a reader")
    });
    (reader.read)(input);
});
