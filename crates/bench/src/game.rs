//! game: a loop that draws frame after frame, with the display server through which it draws and
//! concurrent endless loops.
//!
//! The game computes a frame, sends a request to the display server, and continues when the request
//! of the previous frame has been answered. Under Wine it also calls a third task several times per
//! frame. This is a model of the published runs of a first-person game, whose source is not
//! available.

use crate::benchmark::{Benchmark, Conditions, Figure, Findings, Prepared, Table};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs::{self, Pace, SharedHistogram};
use schedlab_workload::programs::{ChannelId, Context, Kernel, Program, Spawn, Step};
use std::cell::RefCell;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Game;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("hogs", (0, 10_000), "0", "concurrent endless loops").positional(),
    Parameter::real(
        "frame",
        (0.1, 10_000.0),
        "10",
        "CPU time of a frame, ms: the mean of normal draws of at least a tenth of it",
    ),
    Parameter::real("deviation", (0.0, 10_000.0), "1", "standard deviation of these draws, ms"),
    Parameter::real(
        "display",
        (0.0, 10_000.0),
        "1.5",
        "CPU time of the display server for a frame, ms; 0: no server",
    ),
    Parameter::flag("wine", "the game calls a wineserver in each frame"),
    Parameter::whole("wine-calls", (1, 1_000), "4", "calls in a frame"),
    Parameter::real(
        "wine-call",
        (0.0, 10_000.0),
        "30",
        "CPU time of the wineserver for a call, us",
    ),
    Parameter::flag("vsync", "each frame begins at a multiple of 16.667 ms"),
    Parameter::flag("audio", "a concurrent task that computes 2.5 ms every 50 ms"),
    Parameter::whole("time", (1, 100_000), "60", "duration, s"),
];

const SECOND_NS: u64 = 1_000_000_000;
const VSYNC_NS: u64 = 16_666_667;
const BYTES: u32 = 100;

/// State of the game.
struct Shape {
    frame_ns: u64,
    deviation_ns: u64,
    display: Option<(ChannelId, ChannelId)>,
    wine: Option<(ChannelId, ChannelId)>,
    wine_calls: u64,
    vsync: bool,
    /// Times from frame to frame, ns.
    frames: SharedHistogram,
    /// Number of frames by the second in which they ended.
    seconds: RefCell<Vec<u64>>,
}

impl Benchmark for Game {
    fn name(&self) -> &'static str {
        "game"
    }

    fn about(&self) -> &'static str {
        "a game that draws frame after frame next to endless loops: frames per second"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        _: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let objects = os.objects();
        let display_ns = programs::ms(values, "display");
        let display = (display_ns > 0).then(|| (objects.socket(), objects.socket()));
        let wine = values.flag("wine").then(|| (objects.socket(), objects.socket()));
        let time_s = values.whole("time");
        let shape = Rc::new(Shape {
            frame_ns: programs::ms(values, "frame"),
            deviation_ns: programs::ms(values, "deviation"),
            display,
            wine,
            wine_calls: values.whole("wine-calls"),
            vsync: values.flag("vsync"),
            frames: SharedHistogram::default(),
            seconds: RefCell::new(vec![0; time_s as usize]),
        });
        os.start(0, Spawn::new("game", game(shape.clone())));
        if let Some(sockets) = display {
            os.start(0, Spawn::new("display", server(sockets, display_ns)));
        }
        if let Some(sockets) = wine {
            os.start(
                0,
                Spawn::new("wineserver", server(sockets, (values.real("wine-call") * 1e3) as u64)),
            );
        }
        let pace = Rc::new(Pace::default());
        if values.flag("audio") {
            let audio = programs::periodic(2_500_000, 50_000_000, pace.clone());
            os.start(0, Spawn::new("audio", audio));
        }
        for _ in 0..values.whole("hogs") {
            os.start(0, Spawn::new("hog", programs::hog()));
        }
        let limit_ns = Some(time_s * SECOND_NS);
        Ok(Prepared { limit_ns, finish: Box::new(move |_| findings(&shape, &pace.starts)) })
    }
}

fn findings(shape: &Shape, audio: &SharedHistogram) -> Findings {
    let seconds = shape.seconds.borrow();
    let frames: u64 = seconds.iter().sum();
    let time_s = seconds.len() as f64;
    let rate = frames as f64 / time_s;
    let late_ms = shape.frames.borrow().percentile(99, 100).unwrap_or(0) as f64 / 1e6;
    let mut figures = vec![
        Figure::higher("frames a second", "1/s", rate),
        Figure::higher(
            "least frames in a second",
            "1/s",
            seconds.iter().copied().min().unwrap_or(0) as f64,
        ),
        Figure::lower("frame time 99 %", "ms", late_ms),
    ];
    figures.extend(programs::summary(audio, "audio latency"));
    let mut table = Table::new("frames", &["second", "frames"]);
    for (second, &count) in seconds.iter().enumerate() {
        table.push((second + 1).to_string(), vec![count as f64]);
    }
    let printed = format!("{frames} frames {time_s:.1} seconds {rate:.1} fps\n");
    Findings { printed, figures, tables: vec![table] }
}

/// Answers each request after computing for `work_ns`.
fn server((up, down): (ChannelId, ChannelId), work_ns: u64) -> impl Program + 'static {
    let mut part = 0;
    move |_: &mut Context<'_>| {
        let now = part;
        part = (part + 1) % 3;
        match now {
            0 => Step::Read(up, BYTES),
            1 => Step::Run(work_ns),
            _ => Step::Write(down, BYTES),
        }
    }
}

/// Next step of the game.
enum Stage {
    Begin,
    /// Computes the frame between calls. The value is the number of calls left.
    Compute(u64),
    Ask(u64),
    Answer(u64),
    Draw,
    Drawn,
}

fn game(shape: Rc<Shape>) -> impl Program + 'static {
    let mut at = Stage::Begin;
    let mut piece_ns = 0;
    // Requests that have not been answered.
    let mut open = 0;
    let mut last_ns = 0;
    move |os: &mut Context<'_>| {
        loop {
            match at {
                Stage::Begin => {
                    let calls = if shape.wine.is_some() { shape.wine_calls } else { 0 };
                    let drawn =
                        os.random().normal(shape.frame_ns as f64, shape.deviation_ns as f64);
                    piece_ns = drawn.max(shape.frame_ns as f64 / 10.0) as u64 / (calls + 1);
                    at = Stage::Compute(calls);
                    if shape.vsync {
                        return Step::SleepUntil((os.now_ns() / VSYNC_NS + 1) * VSYNC_NS);
                    }
                }
                Stage::Compute(left) => {
                    at = if left > 0 { Stage::Ask(left) } else { Stage::Draw };
                    return Step::Run(piece_ns);
                }
                Stage::Ask(left) => {
                    at = Stage::Answer(left);
                    if let Some((up, _)) = shape.wine {
                        return Step::Write(up, BYTES);
                    }
                }
                Stage::Answer(left) => {
                    at = Stage::Compute(left - 1);
                    if let Some((_, down)) = shape.wine {
                        return Step::Read(down, BYTES);
                    }
                }
                Stage::Draw => {
                    at = Stage::Drawn;
                    if let Some((up, _)) = shape.display {
                        open += 1;
                        return Step::Write(up, BYTES);
                    }
                }
                Stage::Drawn => {
                    if open == 2 {
                        open = 1;
                        if let Some((_, down)) = shape.display {
                            return Step::Read(down, BYTES);
                        }
                    }
                    let now_ns = os.now_ns();
                    shape.frames.borrow_mut().note(now_ns - last_ns);
                    last_ns = now_ns;
                    if let Some(count) =
                        shape.seconds.borrow_mut().get_mut((now_ns / SECOND_NS) as usize)
                    {
                        *count += 1;
                    }
                    at = Stage::Begin;
                }
            }
        }
    }
}
