//! `schedlab scx`.

use crate::scx_args::{ScxArgs, ScxCommand, ScxShowArgs};
use crate::terminal::Output;
use crate::{Failure, Status, scx};
use schedlab_scx::Image;
use schedlab_scx::kfuncs::KFUNCS;
use schedlab_scx::object::Variable;
use schedlab_scx::ops::Callback;
use std::io::{self, Write};

/// Looks at policies.
pub fn scx(args: &ScxArgs, output: &mut Output) -> Result<Status, Failure> {
    match &args.command {
        ScxCommand::Show(args) => show(args, output),
    }
}

fn show(args: &ScxShowArgs, output: &mut Output) -> Result<Status, Failure> {
    let object = scx::read(&args.object)?;
    let settings = scx::settings(args.scx_set.iter().map(String::as_str))?;
    let image = scx::link(&object, args.cpus, &settings)?;
    write_image(&image, output)?;
    Ok(Status::Good)
}

fn write_image(image: &Image, output: &mut Output) -> io::Result<()> {
    let ops = image.ops;
    writeln!(output, "{}: sched_ext policy {}", image.file, image.name)?;
    writeln!(
        output,
        "flags {:#x}, timeout_ms {}, dispatch_max_batch {} (0: the default), {} instructions",
        ops.flags,
        ops.timeout_ms,
        ops.dispatch_max_batch,
        image.code.len()
    )?;
    writeln!(output, "\ncallbacks")?;
    for number in 0..Callback::COUNT {
        let callback = Callback(number as u8);
        let function = image.callback(callback).and_then(|pc| image.function_at(pc));
        if let Some(function) = function {
            let (name, insns) = (callback.name(), function.code.len());
            writeln!(output, "  {name:<20} {} ({insns} instructions)", function.name)?;
        }
    }
    let mut list = |title: &str, lines: Vec<String>| -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(output, "\n{title}")?;
        lines.iter().try_for_each(|line| writeln!(output, "  {line}"))
    };
    let maps = image.maps.iter().map(|map| {
        let (kind, entries) = (map.kind.name(), map.max_entries);
        let sizes = format!("key {} B, value {} B", map.key_size, map.value_size);
        format!("{:<20} {kind}, max_entries {entries}, {sizes}", map.name)
    });
    list("maps", maps.collect())?;
    let settable = image.variables.iter().filter(|variable| !is_own(image, variable));
    let constant = |variable: &&Variable| !image.data[variable.data].is_writable;
    list("settings (constant while it runs)", {
        settable.clone().filter(constant).map(|variable| describe(image, variable)).collect()
    })?;
    list("variables", {
        let others = settable.filter(|variable| !constant(variable));
        others.map(|variable| describe(image, variable)).collect()
    })?;
    list("kernel functions", {
        image.kfuncs.iter().map(|&number| KFUNCS[number].name.into()).collect()
    })?;
    list("asked for and not there (it can do without)", image.absent.clone())?;
    list("ends the policy if it gets there", image.poisons.clone())?;
    list("never called here", image.never_called.clone())
}

/// Whether a variable is no user's affair: numbers that are filled in, the kernel's configuration,
/// the table of callbacks.
fn is_own(image: &Image, variable: &Variable) -> bool {
    let section = image.data[variable.data].name.as_str();
    variable.name.starts_with("__SCX_")
        || section == ".kconfig"
        || section.starts_with(".struct_ops")
}

fn describe(image: &Image, variable: &Variable) -> String {
    let (name, size) = (&variable.name, variable.size);
    if let Some(element) = variable.element.filter(|&element| element > 0) {
        return format!("{name:<20} {} elements of {element} B", size / element);
    }
    let start = variable.offset as usize;
    let bytes = image.data[variable.data].bytes.get(start..start + size as usize);
    match bytes {
        Some(bytes) if matches!(size, 1 | 2 | 4 | 8) => {
            let value = bytes.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
            format!("{name:<20} {value} ({size} B)")
        }
        _ => format!("{name:<20} {size} B"),
    }
}
