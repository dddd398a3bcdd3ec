//! Charts as picture files: SVG, or PNG if the program is built with it.

use crate::Failure;
use crate::files;
#[cfg(feature = "png")]
use crate::png::png;
use std::path::Path;

/// First bytes of a PNG.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Svg,
    Png,
}

impl Form {
    /// Returns the format of the file's ending.
    fn of(path: &Path) -> Option<Form> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "svg" => Some(Form::Svg),
            "png" => Some(Form::Png),
            _ => None,
        }
    }
}

/// Checks, before anything runs, that `--plot` can write to `path`. `is_ours` recognises an earlier
/// SVG of the same kind.
///
/// # Errors
/// It cannot be written: its ending names no format, its directory does not exist, or another file
/// exists there.
pub fn check(path: &Path, is_ours: impl FnOnce(&str) -> bool) -> Result<(), Failure> {
    files::check(path)?;
    let shown = path.display();
    let Some(form) = Form::of(path) else {
        return Err(Failure::Message(format!(
            "--plot: {shown}: name a file that ends in .svg or .png"
        )));
    };
    if form == Form::Png && !cfg!(feature = "png") {
        return Err(Failure::Message(format!(
            "--plot: {shown}: this program is built without PNG; name a file that ends in .svg, or \
             build it with `cargo build --release --features png`"
        )));
    }
    match form {
        Form::Svg => {
            files::check_replaceable(path, "--plot", "a picture of this program", is_ours)?;
        }
        // A PNG does not name its program: any picture may be replaced.
        Form::Png => {
            let old = path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0);
            if old && !files::begins_with(path, SIGNATURE) {
                return Err(Failure::Message(format!(
                    "--plot: {shown} exists and is not a picture, so it is not overwritten; name \
                     another file"
                )));
            }
        }
    }
    Ok(())
}

/// Writes a picture in the format of the file's ending.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, svg: &str) -> Result<(), Failure> {
    match Form::of(path) {
        #[cfg(feature = "png")]
        Some(Form::Png) => {
            let png = png(svg).map_err(|why| format!("--plot: {}: {why}", path.display()))?;
            files::write_whole_bytes(path, &png)?;
        }
        _ => files::write_whole(path, svg)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_the_form() {
        let form = |path: &str| Form::of(Path::new(path));
        assert_eq!(form("a.svg"), Some(Form::Svg));
        assert_eq!(form("a.b.PNG"), Some(Form::Png));
        assert_eq!((form("a.jpg"), form("png"), form("a")), (None, None, None));
    }
}
