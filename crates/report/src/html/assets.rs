//! Common parts of every page of runs: uPlot, the style sheet, the scripts.

/// Version of uPlot in `assets/uplot`.
pub(super) const UPLOT_VERSION: &str = "1.6.32";
const UPLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
/// Licence of uPlot, which is included in the page.
pub(super) const UPLOT_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");

/// Style sheets, in order.
pub(super) const STYLES: [&str; 2] = [UPLOT_STYLE, include_str!("../../assets/report.css")];

/// Scripts, in order: each uses those before it.
pub(super) const SCRIPTS: [&str; 10] = [
    UPLOT_SCRIPT,
    include_str!("../../assets/base.js"),
    include_str!("../../assets/data.js"),
    include_str!("../../assets/colors.js"),
    include_str!("../../assets/lanes.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/tables.js"),
    include_str!("../../assets/figures.js"),
    include_str!("../../assets/page.js"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn uplot_is_the_one_that_was_vendored() {
        let readme = include_str!("../../assets/uplot/README.md");
        assert!(readme.starts_with(&format!("# uPlot {UPLOT_VERSION}\n")));
        assert!(UPLOT_SCRIPT.contains(&format!("(v{UPLOT_VERSION})")));
        for (file, text) in [
            ("uPlot.iife.min.js", UPLOT_SCRIPT),
            ("uPlot.min.css", UPLOT_STYLE),
            ("LICENSE", UPLOT_LICENSE),
        ] {
            let sum: String =
                Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(readme.contains(&format!("    {sum}  {file}\n")), "{file} is {sum}");
        }
    }

    #[test]
    fn no_script_ends_its_element_or_reaches_out() {
        for text in SCRIPTS.iter().chain(&STYLES) {
            let lower = text.to_lowercase();
            for word in ["</script", "</style", "<!--", "eval(", "new function(", "@import"] {
                assert!(!lower.contains(word), "{word}");
            }
        }
        for script in &SCRIPTS[1..] {
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "http"] {
                assert!(!script.contains(word), "{word} in our own script");
            }
        }
    }
}
