//! Points of a space that run: all combinations, or a sample.

use super::axis::{Axis, Domain};
use super::value::AxisValue;
use schedlab_machine::SplitMix64;

/// The points of a space, by number.
#[derive(Clone, PartialEq, Debug)]
pub enum Points {
    /// Every combination of values. The values of the first axis change last.
    Grid,
    /// Points that were drawn, or given.
    Listed(Vec<Vec<AxisValue>>),
}

impl Points {
    /// Returns the number of points. `None`: too large to count.
    pub fn count(&self, axes: &[Axis]) -> Option<u64> {
        match self {
            Points::Listed(points) => Some(points.len() as u64),
            Points::Grid => axes.iter().try_fold(1u64, |product, axis| match &axis.domain {
                Domain::List(values) => product.checked_mul(values.len() as u64),
                Domain::Between { .. } => None,
            }),
        }
    }

    /// Returns the point with this number.
    pub fn get(&self, axes: &[Axis], number: u64) -> Vec<AxisValue> {
        match self {
            Points::Listed(points) => points[number as usize].clone(),
            Points::Grid => {
                let mut rest = number;
                let mut point: Vec<AxisValue> = (axes.iter().rev())
                    .map(|axis| match &axis.domain {
                        Domain::List(values) => {
                            let place = rest % values.len() as u64;
                            rest /= values.len() as u64;
                            values[place as usize].clone()
                        }
                        Domain::Between { .. } => axis.at(0.0),
                    })
                    .collect();
                point.reverse();
                point
            }
        }
    }
}

/// Returns the random stream of an axis. Each axis has its own, so that another axis leaves the
/// others as they are.
fn stream(seed: u64, axis: usize) -> SplitMix64 {
    let mut mixed = SplitMix64::new(seed);
    let seed = mixed.next_u64() ^ (axis as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    SplitMix64::new(seed)
}

/// Draws `count` random points.
pub fn random(axes: &[Axis], count: usize, seed: u64) -> Vec<Vec<AxisValue>> {
    columns(axes, count, |number, axis| {
        let mut random = stream(seed, number);
        (0..count).map(|_| axis.at(random.unit())).collect()
    })
}

/// Draws `count` points of a Latin hypercube: each axis is divided into `count` pieces, and each
/// piece contains one point.
pub fn latin(axes: &[Axis], count: usize, seed: u64) -> Vec<Vec<AxisValue>> {
    columns(axes, count, |number, axis| {
        let mut random = stream(seed, number);
        let mut pieces: Vec<usize> = (0..count).collect();
        random.shuffle(&mut pieces);
        let at = |piece: usize| axis.at((piece as f64 + random.unit()) / count as f64);
        pieces.into_iter().map(at).collect()
    })
}

fn columns(
    axes: &[Axis],
    count: usize,
    column: impl Fn(usize, &Axis) -> Vec<AxisValue>,
) -> Vec<Vec<AxisValue>> {
    let mut points = vec![Vec::with_capacity(axes.len()); count];
    for (number, axis) in axes.iter().enumerate() {
        for (point, value) in points.iter_mut().zip(column(number, axis)) {
            point.push(value);
        }
    }
    points
}
