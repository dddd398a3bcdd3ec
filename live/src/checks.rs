//! Requirements for loading a policy. Each error states the remedy.

use std::fs;
use std::path::Path;

/// An error with its exit status.
#[derive(Debug)]
pub struct Failure {
    /// Text for the user.
    pub message: String,
    /// The exit status.
    pub status: u8,
}

impl Failure {
    /// The request cannot be carried out.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 2 }
    }

    /// The policy or the command ran and ended with an error.
    pub fn ended(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 1 }
    }
}

const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// Required capabilities (bits): to load programs, and to switch all tasks.
const NEEDED: [(u32, &str); 2] = [(39, "CAP_BPF"), (21, "CAP_SYS_ADMIN")];

/// Checks that this machine's kernel can run a policy and permits this process to load one.
///
/// # Errors
/// The first missing requirement.
pub fn machine() -> Result<(), Failure> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    if !Path::new(SCHED_EXT).is_dir() {
        return Err(Failure::usage(format!(
            "kernel {release} has no sched_ext ({SCHED_EXT} does not exist): it needs 6.12 or \
             later with CONFIG_SCHED_CLASS_EXT=y; tests/kernel/run.sh boots one in QEMU"
        )));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Failure::usage(format!(
            "kernel {release} does not export its types (/sys/kernel/btf/vmlinux does not exist): \
             it needs CONFIG_DEBUG_INFO_BTF=y"
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
            "a policy is already loaded ({}, {state}): first end the program that loaded it",
            name.trim()
        )));
    }
    Ok(())
}

/// The state of the class: disabled, enabling, enabled, disabling, bypassing.
pub fn state() -> String {
    fs::read_to_string(format!("{SCHED_EXT}/state")).unwrap_or_default().trim().into()
}

/// Messages about sched_ext in the kernel's log.
pub fn messages() -> Vec<String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    // Without this flag reading would block at the end of the log.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = fs::OpenOptions::new().read(true).custom_flags(nonblock).open("/dev/kmsg");
    let Ok(mut file) = file else { return vec![] };
    let mut all = vec![];
    let mut record = [0_u8; 8192];
    while let Ok(len) = file.read(&mut record) {
        let text = String::from_utf8_lossy(&record[..len]);
        let message = text.split_once(';').map_or("", |(_, message)| message);
        let message = message.lines().next().unwrap_or_default();
        if let Some(message) = message.strip_prefix("sched_ext: ") {
            all.push(message.to_string());
        }
    }
    all
}

/// Reason for the end of a policy: the messages in the kernel's log after the first `before`.
pub fn why_ended(before: usize) -> String {
    let all = messages();
    let since = all.get(before..).unwrap_or_default();
    match since.is_empty() {
        true => "its log (dmesg) states no reason".into(),
        false => since.join("; "),
    }
}
