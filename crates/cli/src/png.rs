//! Pictures as PNG.
//!
//! A PNG has twice the resolution of the SVG in each direction, a white background, and letters
//! from Roboto, which is part of the program: it looks the same on every machine.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels of a PNG for one unit of the SVG.
const SCALE: f32 = 2.0;

const FONTS: [&[u8]; 2] = [
    include_bytes!("../assets/roboto/Roboto-Regular.ttf"),
    include_bytes!("../assets/roboto/Roboto-Bold.ttf"),
];

/// Returns the picture as PNG.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let pixmap = pixmap(svg)?;
    pixmap.encode_png().map_err(|error| error.to_string())
}

fn pixmap(svg: &str) -> Result<Pixmap, String> {
    let mut options = Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    for font in FONTS {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family("Roboto");
    options.font_family = "Roboto".into();
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture is too large")?;
    let mut pixmap = Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    Ok(pixmap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_report::plot::{Chart, Point, Series};

    fn chart(title: &str) -> String {
        let points = vec![Point::new(0.0, 1.0), Point::new(1.0, 2.0)];
        let series = vec![Series { name: "a".into(), points, published: false }];
        Chart { title: title.into(), series, ..Chart::default() }.to_svg()
    }

    fn dark(pixmap: &Pixmap, rows: std::ops::Range<u32>) -> usize {
        let width = pixmap.width() as usize;
        let (from, to) = (rows.start as usize * width, rows.end as usize * width);
        pixmap.pixels()[from..to].iter().filter(|pixel| pixel.red() < 200).count()
    }

    /// Curves and letters are drawn: a title of many letters takes more ink than one of few.
    #[test]
    fn curves_and_letters_are_drawn() {
        let (few, many) = (chart("ii").as_str().to_owned(), chart("many more letters"));
        let few = pixmap(&few).expect("the picture is drawn");
        let many = pixmap(&many).expect("the picture is drawn");
        assert_eq!(few.width(), 2 * 760);
        let title = 0..80;
        assert!(dark(&few, title.clone()) > 20);
        assert!(dark(&many, title.clone()) > 3 * dark(&few, title));
        let blue = few.pixels().iter().filter(|it| it.blue() > 150 && it.red() < 60).count();
        assert!(blue > 500, "the curve: {blue}");
    }

    #[test]
    fn a_png_is_one() {
        let bytes = png(&chart("t")).expect("the picture is drawn");
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(bytes, png(&chart("t")).expect("the picture is drawn"), "the same every time");
        assert!(png("<svg").is_err());
    }
}
