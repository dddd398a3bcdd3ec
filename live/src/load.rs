//! Reads, loads and attaches a policy.

use crate::checks::Failure;
use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder, PrintLevel};
use schedlab_scx::twins::decision::SETTING;
use schedlab_scx::{Object, Setting, Target};
use std::borrow::Cow;
use std::process::Command;
use std::sync::Mutex;

/// The laboratory's own policies: name, description, object.
pub const OWN: &[(&str, &str, &[u8])] = &[
    (
        "vtime",
        "weighted fair queueing by virtual time, one queue",
        include_bytes!("../../examples/scx/vtime.bpf.o"),
    ),
    (
        "goodness",
        "Linux 2.4: one list, counters in ticks, goodness",
        include_bytes!("../../examples/scx/goodness.bpf.o"),
    ),
    (
        "o_1",
        "Linux 2.6.0: active and expired array, slices, sleep estimate",
        include_bytes!("../../examples/scx/o_1.bpf.o"),
    ),
    ("bfs", "BFS: one queue, virtual deadlines", include_bytes!("../../examples/scx/bfs.bpf.o")),
];

/// Setting with which a policy prints its callbacks.
const PRINTS: &str = "log_events";

/// Returns the object of a policy: one of the laboratory's own, an object file, or a source that is
/// compiled first.
///
/// # Errors
/// If it does not exist, or cannot be read or compiled.
pub fn object(policy: &str) -> Result<Cow<'static, [u8]>, Failure> {
    if let Some((_, _, bytes)) = OWN.iter().find(|(name, ..)| *name == policy) {
        return Ok(Cow::Borrowed(bytes));
    }
    if policy.ends_with(".c") {
        return compile(policy).map(Cow::Owned);
    }
    match std::fs::read(policy) {
        Ok(bytes) => Ok(Cow::Owned(bytes)),
        Err(error) => {
            let names: Vec<&str> = OWN.iter().map(|(name, ..)| *name).collect();
            Err(Failure::usage(format!(
                "{policy}: {error}; a policy is a file (.bpf.o, .bpf.c) or one of {}",
                names.join(", ")
            )))
        }
    }
}

/// Compilers to try. CLANG names another.
const COMPILERS: [&str; 7] =
    ["clang", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16"];

fn compile(source: &str) -> Result<Vec<u8>, Failure> {
    let own = std::env::var("CLANG").ok();
    let has = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let named = own.as_deref().into_iter().chain(COMPILERS).find(has);
    let compiler = named.ok_or_else(|| {
        Failure::usage(format!(
            "{source}: a source needs clang, which is not installed: apt-get install clang-19, or \
             name one in CLANG; an object (.bpf.o) needs none"
        ))
    })?;
    let directory = std::env::temp_dir().join(format!("schedlab-live-{}", std::process::id()));
    std::fs::create_dir(&directory)
        .map_err(|error| Failure::usage(format!("{}: {error}", directory.display())))?;
    let header = directory.join("scx_lab.h");
    let object = directory.join("policy.bpf.o");
    let result = std::fs::write(&header, include_str!("../../examples/scx/scx_lab.h"))
        .map_err(|error| error.to_string())
        .and_then(|()| {
            let output = Command::new(compiler)
                .args(["--target=bpf", "-g", "-O2", "-mcpu=v3", "-c", source, "-o"])
                .arg(&object)
                .arg("-I")
                .arg(&directory)
                .output()
                .map_err(|error| error.to_string())?;
            match output.status.success() {
                true => std::fs::read(&object).map_err(|error| error.to_string()),
                false => Err(format!(
                    "{compiler} cannot compile it:\n{}",
                    String::from_utf8_lossy(&output.stderr)
                )),
            }
        });
    let _ = std::fs::remove_dir_all(&directory);
    result.map_err(|message| Failure::usage(format!("{source}: {message}")))
}

/// A policy with its settings.
pub struct Policy {
    file: String,
    name: String,
    bytes: Cow<'static, [u8]>,
    /// Values to write, by section and offset.
    sets: Vec<(String, usize, Vec<u8>)>,
}

/// A loaded policy.
pub struct Loaded {
    // Drop order: the policy is unloaded before its maps are closed.
    _links: Vec<Link>,
    object: libbpf_rs::Object,
}

impl Loaded {
    /// A map, by its name.
    pub fn map(&self, name: &str) -> Option<libbpf_rs::Map<'_>> {
        self.object.maps().find(|map| map.name() == name)
    }
}

impl Policy {
    /// Reads an object with the laboratory's reader, and prepares its settings.
    ///
    /// # Errors
    /// If it is not a policy, a setting cannot be made, or it should log decisions and cannot.
    pub fn read(
        file: &str,
        bytes: Cow<'static, [u8]>,
        settings: &[String],
        prints: bool,
        logs: bool,
    ) -> Result<Policy, Failure> {
        let usage = |error: schedlab_scx::ObjectError| Failure::usage(error.to_string());
        let target = Target { cpus: 1, hz: 250 };
        let object = Object::read(file, &bytes).map_err(usage)?;
        let mut settings = settings.to_vec();
        let image = object.link(target, &[]).map_err(usage)?;
        let has = |name: &str| image.variables.iter().any(|variable| variable.name == name);
        if prints && has(PRINTS) {
            settings.push(format!("{PRINTS}=1"));
        }
        if logs && !has(SETTING) {
            return Err(Failure::usage(format!(
                "--log: {} logs no decisions (it has no setting {SETTING}); --printed FILE writes \
                 its printed output",
                image.name
            )));
        }
        if logs {
            settings.push(format!("{SETTING}=1"));
        }
        let all: Result<Vec<Setting>, _> =
            settings.iter().map(|text| Setting::read(text)).collect();
        let all = all.map_err(usage)?;
        let image = object.link(target, &all).map_err(usage)?;
        let mut sets = vec![];
        for text in &settings {
            let name = text.split(['=', '[']).next().unwrap_or_default().trim();
            let variable = image.variables.iter().find(|variable| variable.name == name);
            let variable = variable.ok_or_else(|| {
                Failure::usage(format!(
                    "--scx-set {text}: only variables can be set here, and {name} is not one"
                ))
            })?;
            let data = &image.data[variable.data];
            let start = variable.offset as usize;
            let bytes = data.bytes.get(start..start + variable.size as usize);
            let bytes = bytes.ok_or_else(|| Failure::usage(format!("{name} has no value")))?;
            sets.push((data.name.clone(), start, bytes.to_vec()));
        }
        Ok(Policy { file: file.into(), name: image.name.clone(), bytes, sets })
    }

    /// Name of the policy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loads the policy and attaches it to all ordinary tasks of the machine.
    ///
    /// # Errors
    /// If the kernel refuses it. The message contains the verifier's output.
    pub fn attach(&self) -> Result<Loaded, Failure> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            let mut output = OUTPUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // The last lines state the reason; a verifier's output can be long.
            if output.len() > 1 << 16 {
                output.drain(..1 << 15);
            }
            output.push(text);
        })));
        let refused = |error: libbpf_rs::Error| {
            let output = OUTPUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let lines: Vec<&str> = output.iter().flat_map(|text| text.lines()).collect();
            let end = lines[lines.len().saturating_sub(40)..].join("\n  ");
            Failure::usage(format!("{}: the kernel refuses it: {error}\n  {end}", self.file))
        };
        let mut open = ObjectBuilder::default().open_memory(&self.bytes).map_err(refused)?;
        for (section, start, bytes) in &self.sets {
            let mut maps = open.maps_mut();
            let map = maps.find(|map| map.name().to_string_lossy().ends_with(section.as_str()));
            let mut map = map.ok_or_else(|| {
                Failure::usage(format!("{}: libbpf creates no map for {section}", self.file))
            })?;
            let place =
                map.initial_value_mut().and_then(|all| all.get_mut(*start..start + bytes.len()));
            let place = place.ok_or_else(|| {
                Failure::usage(format!("{}: {section} has no offset {start}", self.file))
            })?;
            place.copy_from_slice(bytes);
        }
        let mut object = open.load().map_err(refused)?;
        let mut links = vec![];
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            links.push(map.attach_struct_ops().map_err(refused)?);
        }
        match links.is_empty() {
            true => Err(Failure::usage(format!("{}: there is no table of callbacks", self.file))),
            false => Ok(Loaded { _links: links, object }),
        }
    }
}

/// Output of libbpf.
static OUTPUT: Mutex<Vec<String>> = Mutex::new(Vec::new());
