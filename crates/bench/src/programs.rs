//! Programs that several benchmarks use, and figures of recorded values.

use crate::benchmark::Figure;
use crate::parameter::{BadValue, Values};
use schedlab_measure::Histogram;
use schedlab_workload::programs::{Context, Program, Step};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Values that tasks of a benchmark record, ns.
pub(crate) type SharedHistogram = Rc<RefCell<Histogram>>;

/// Returns a parameter in milliseconds, in ns.
pub(crate) fn ms(values: &Values, name: &str) -> u64 {
    (values.real(name) * 1e6).round() as u64
}

/// Returns the nice value of the parameter `name`.
pub(crate) fn nice(values: &Values, name: &str) -> Result<i32, BadValue> {
    let value = values.real(name);
    match value.fract() == 0.0 {
        true => Ok(value as i32),
        false => Err(BadValue::new(name, format!("{value} is not a whole number; give -20 to 19"))),
    }
}

/// Computes forever.
pub(crate) fn hog() -> impl Program + 'static {
    |_: &mut Context<'_>| Step::Run(u64::MAX)
}

/// Returns an editor. It repeatedly sleeps for an exponential draw with this mean, and then
/// computes for `run_ns`. It records the time from the end of each sleep to the end of the
/// computation.
pub(crate) fn editor(
    sleep_mean_ns: u64,
    run_ns: u64,
    responses: SharedHistogram,
) -> impl Program + 'static {
    let mut woken_ns = None;
    let mut run = false;
    move |os: &mut Context<'_>| {
        if std::mem::replace(&mut run, false) {
            return Step::Run(run_ns);
        }
        if let Some(woken_ns) = woken_ns {
            responses.borrow_mut().note(os.now_ns() - woken_ns);
        }
        let sleep_ns = os.random().exponential(sleep_mean_ns as f64) as u64;
        // It can be late only after a sleep, and a sleep of no length is none.
        let until_ns = os.now_ns() + sleep_ns.max(1);
        woken_ns = Some(until_ns);
        run = true;
        Step::SleepUntil(until_ns)
    }
}

/// Recorded values of a periodic task.
#[derive(Default)]
pub(crate) struct Pace {
    /// Delay of its start, ns.
    pub(crate) starts: SharedHistogram,
    /// Time from its due time until it was done, ns.
    pub(crate) responses: SharedHistogram,
    /// Number of times that it was done before its next due time.
    pub(crate) met: Cell<u64>,
}

/// Computes for `run_ns` at every multiple of `period_ns`, forever. Missed periods are skipped.
pub(crate) fn periodic(run_ns: u64, period_ns: u64, pace: Rc<Pace>) -> impl Program + 'static {
    let mut due_ns = 0;
    let mut run = false;
    move |os: &mut Context<'_>| {
        let now_ns = os.now_ns();
        if std::mem::replace(&mut run, false) {
            pace.starts.borrow_mut().note(now_ns - due_ns);
            return Step::Run(run_ns);
        }
        if due_ns > 0 {
            pace.responses.borrow_mut().note(now_ns - due_ns);
            pace.met.set(pace.met.get() + u64::from(now_ns - due_ns <= period_ns));
        }
        due_ns = (now_ns / period_ns + 1) * period_ns;
        run = true;
        Step::SleepUntil(due_ns)
    }
}

/// Returns mean, 99th percentile and maximum of the recorded values, in ms.
pub(crate) fn summary(noted: &SharedHistogram, what: &str) -> Vec<Figure> {
    let noted = noted.borrow();
    let moments = noted.moments();
    let Some(mean_ns) = moments.mean() else { return vec![] };
    let ms = |ns: u64| ns as f64 / 1e6;
    vec![
        Figure::lower(format!("{what} mean"), "ms", ms(mean_ns)),
        Figure::lower(format!("{what} 99 %"), "ms", ms(noted.percentile(99, 100).unwrap_or(0))),
        Figure::lower(format!("{what} max"), "ms", ms(moments.max)),
    ]
}

/// Returns mean and variance (divisor n - 1) of some numbers. The variance of fewer than two is 0.
pub(crate) fn mean_and_variance(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    if numbers.is_empty() {
        return (0.0, 0.0);
    }
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
    (mean, if numbers.len() > 1 { squares / (count - 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_of_a_sample() {
        assert_eq!(mean_and_variance(&[]), (0.0, 0.0));
        assert_eq!(mean_and_variance(&[3.0]), (3.0, 0.0));
        let (mean, variance) = mean_and_variance(&[10.0, 15.0, 15.0]);
        assert!((mean - 40.0 / 3.0).abs() < 1e-12 && (variance - 25.0 / 3.0).abs() < 1e-12);
    }
}
