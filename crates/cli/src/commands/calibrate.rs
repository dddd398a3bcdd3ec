//! `schedlab calibrate`.

use crate::args::CalibrateArgs;
use crate::files;
use crate::terminal::{Output, Spinner, complain, style};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::Source;
use schedlab_machine::description::Description;
use schedlab_papers::calibration::{Calibration, Progress, text};
use std::io::Write;
use std::sync::Mutex;

/// Fits the costs of a machine to measurements.
pub fn calibrate(args: &CalibrateArgs, output: &mut Output) -> Result<Status, Failure> {
    let Source { file: name, text: content } = files::read(&args.file)?;
    let calibration = Calibration::read(&name, &content).map_err(|error| error.to_string())?;
    if let Some(path) = &args.write {
        files::check(path)?;
        files::check_replaceable(path, "--write", "a calibrated machine", |text| {
            Description::parse("", text)
                .is_ok_and(|machine| machine.numbers.iter().any(|number| number.calibrated))
        })?;
    }
    complain("note: a calibration simulates every measurement many times, which takes minutes");
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let spinner = Spinner::new("simulations");
    let best = Mutex::new((0_u32, f64::INFINITY));
    let calibrated =
        calibration.run(&name, args.cores.unwrap_or_else(parallel::cores), |progress| {
            let Progress::Try(off) = progress else { return spinner.tick() };
            if let Ok(mut best) = best.lock() {
                *best = (best.0 + 1, best.1.min(off));
                spinner.say(format!(
                    "{} sets of values tried, smallest error {:.1} %",
                    best.0,
                    100.0 * best.1
                ));
            }
        });
    drop(spinner);
    let calibrated = calibrated.map_err(|error| error.to_string())?;
    let style = style();
    let width = style.width.try_into().unwrap_or(u16::MAX);
    output.write_all(text::calibrated(&calibrated, width, style.unicode).as_bytes())?;
    if let Some(path) = &args.write {
        files::write_whole(path, &calibrated.description)?;
        complain(&format!("note: the machine's file is {}", path.display()));
    }
    Ok(Status::Good)
}
