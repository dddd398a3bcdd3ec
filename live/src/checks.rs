//! What has to be there before a policy can be loaded, each with the way out.

use std::fs;
use std::path::Path;

/// Why something was not done, and the exit status.
#[derive(Debug)]
pub struct Failure {
    /// What is told.
    pub message: String,
    /// The exit status.
    pub status: u8,
}

impl Failure {
    /// It cannot be done.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 2 }
    }

    /// It was done, and ended badly.
    pub fn ended(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 1 }
    }
}

const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// Capabilities (bits): to load programs, and to have all tasks switched.
const NEEDED: [(u32, &str); 2] = [(39, "CAP_BPF"), (21, "CAP_SYS_ADMIN")];

/// Whether this machine's kernel can run a policy, and lets us.
///
/// # Errors
/// The first thing that is missing.
pub fn machine() -> Result<(), Failure> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    if !Path::new(SCHED_EXT).is_dir() {
        return Err(Failure::usage(format!(
            "kernel {release} has no sched_ext ({SCHED_EXT} is not there): it needs 6.12 or later \
             with CONFIG_SCHED_CLASS_EXT=y; tests/kernel/run.sh boots one in QEMU"
        )));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Failure::usage(format!(
            "kernel {release} does not tell its types (/sys/kernel/btf/vmlinux is not there): it \
             needs CONFIG_DEBUG_INFO_BTF=y"
        )));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    for (bit, name) in NEEDED {
        if effective.is_some_and(|bits| bits >> bit & 1 == 0) {
            return Err(Failure::usage(format!(
                "{name} is missing: run it as root (sudo schedlab-live ...)"
            )));
        }
    }
    let state = state();
    if state != "disabled" {
        let name =
            fs::read_to_string(Path::new(SCHED_EXT).join("root").join("ops")).unwrap_or_default();
        return Err(Failure::usage(format!(
            "a policy is loaded already ({}, {state}): end the program that has loaded it first",
            name.trim()
        )));
    }
    Ok(())
}

/// The state of the class: disabled, enabling, enabled, disabling, bypassing.
pub fn state() -> String {
    fs::read_to_string(format!("{SCHED_EXT}/state")).unwrap_or_default().trim().into()
}

/// What the kernel's log says of sched_ext.
pub fn said() -> Vec<String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    // Reading ends with an error where there is no more, as it would wait otherwise.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = fs::OpenOptions::new().read(true).custom_flags(nonblock).open("/dev/kmsg");
    let Ok(mut file) = file else { return vec![] };
    let mut all = vec![];
    let mut record = [0_u8; 8192];
    while let Ok(len) = file.read(&mut record) {
        let text = String::from_utf8_lossy(&record[..len]);
        let message = text.split_once(';').map_or("", |(_, message)| message);
        let message = message.lines().next().unwrap_or_default();
        if let Some(said) = message.strip_prefix("sched_ext: ") {
            all.push(said.to_string());
        }
    }
    all
}

/// What the kernel's log says of the end of a policy, beyond what it had said `before`.
pub fn why_ended(before: usize) -> String {
    let all = said();
    let since = all.get(before..).unwrap_or_default();
    match since.is_empty() {
        true => "its log (dmesg) does not say why".into(),
        false => since.join("; "),
    }
}
