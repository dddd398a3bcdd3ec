//! Which points of a space are run: all combinations, or a sample.

use super::axis::{Axis, AxisValue, Domain};
use schedlab_machine::SplitMix64;

/// The points of a space, by their numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Points {
    /// Every combination of values; of the first axis they change last.
    Grid,
    /// Points that were drawn or given.
    Listed(Vec<Vec<AxisValue>>),
}

impl Points {
    /// How many there are; none: more than can be counted.
    pub fn count(&self, axes: &[Axis]) -> Option<u64> {
        match self {
            Points::Listed(points) => Some(points.len() as u64),
            Points::Grid => axes.iter().try_fold(1u64, |product, axis| match &axis.domain {
                Domain::List(values) => product.checked_mul(values.len() as u64),
                Domain::Between { .. } => None,
            }),
        }
    }

    /// One of them.
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

/// Each axis draws from a stream of its own: one more axis leaves the others as they were.
fn stream(seed: u64, axis: usize) -> SplitMix64 {
    let mut mixed = SplitMix64::new(seed);
    let seed = mixed.next_u64() ^ (axis as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    SplitMix64::new(seed)
}

/// `count` points by chance.
pub fn random(axes: &[Axis], count: usize, seed: u64) -> Vec<Vec<AxisValue>> {
    columns(axes, count, |number, axis| {
        let mut random = stream(seed, number);
        (0..count).map(|_| axis.at(random.unit())).collect()
    })
}

/// `count` points of a Latin hypercube: each axis is cut into as many pieces, and each piece has
/// one point.
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
