//! Summary of a space's results: the means over seeds with their confidence intervals, the best
//! point, and the points that no other point beats in all metrics (the Pareto front).

use super::{Row, Space};
use schedlab_measure::Better;
use std::collections::BTreeMap;

/// Mean of a metric over the seeds of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// Number of runs with a value.
    pub count: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean, by Student's t. `None`: there is only one
    /// run. The interval covers what the seeds vary, and assumes that values over seeds are
    /// approximately normal.
    pub half_width: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Mean {
    /// Returns the mean of `values`. `None`: there are no values.
    pub fn of(values: &[f64]) -> Option<Mean> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let half_width = (count > 1).then(|| {
            let variance = squares / (count - 1) as f64;
            t_95(count - 1) * libm::sqrt(variance / count as f64)
        });
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), it| (it.min(min), it.max(max)));
        Some(Mean { count, mean, half_width, min, max })
    }
}

/// Returns the 97.5 % quantile of Student's t with `freedom` degrees of freedom.
pub fn t_95(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739,
        2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        // Cornish-Fisher expansion about the normal quantile; correct to 4 digits here.
        _ => {
            let (z, n) = (1.959_964_f64, freedom as f64);
            let (z3, z5) = (z * z * z, z * z * z * z * z);
            z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        }
    }
}

/// A point under a scheduler, summarised over its seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Number of the point.
    pub point: u64,
    /// Scheduler of the runs.
    pub scheduler: String,
    /// Mean of each metric, in the order of [`Space::metrics`].
    pub means: Vec<Option<Mean>>,
    /// Number of runs that failed.
    pub failed: usize,
}

/// Rows by point and scheduler, collected in any order.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    cells: BTreeMap<(u64, String), PointValues>,
}

#[derive(Clone, Debug, Default)]
struct PointValues {
    values: Vec<Vec<(u64, f64)>>,
    failed: usize,
}

impl Summary {
    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        let point_values = self.cells.entry((row.point, row.scheduler.clone())).or_default();
        point_values.failed += usize::from(row.error.is_some());
        point_values.values.resize(row.values.len(), vec![]);
        for (list, value) in point_values.values.iter_mut().zip(&row.values) {
            list.extend(value.map(|value| (row.repetition, value)));
        }
    }

    /// Returns all cells, by point.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |((point, scheduler), point_values): (&(u64, String), &PointValues)| {
            let mean = |list: &Vec<(u64, f64)>| {
                // Sums in the order of seeds are the same to the bit, whatever the order of
                // arrival.
                let mut list = list.clone();
                list.sort_by_key(|(repetition, _)| *repetition);
                Mean::of(&list.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
            };
            let means = point_values.values.iter().map(mean).collect();
            let (point, scheduler) = (*point, scheduler.clone());
            Cell { point, scheduler, means, failed: point_values.failed }
        };
        self.cells.iter().map(cell).collect()
    }
}

/// Whether `one` is better than `other`, if either direction is better.
fn beats(better: Better, one: f64, other: f64) -> bool {
    match better {
        Better::Lower => one < other,
        Better::Higher => one > other,
        Better::Neither => false,
    }
}

/// Returns the best of `cells` by the metric at `place`. `None`: neither direction is better, or no
/// cell has a value.
pub fn best<'a>(space: &Space, cells: &'a [Cell], place: usize) -> Option<&'a Cell> {
    let better = space.metrics().get(place)?.better;
    let mut best: Option<(&Cell, f64)> = None;
    for cell in cells {
        let Some(mean) = cell.means.get(place).copied().flatten() else { continue };
        if best.is_none_or(|(_, value)| beats(better, mean.mean, value)) {
            best = Some((cell, mean.mean));
        }
    }
    best.filter(|_| better != Better::Neither).map(|(cell, _)| cell)
}

/// Returns the cells that no other cell beats in one of `places` without losing in another.
pub fn pareto<'a>(space: &Space, cells: &'a [Cell], places: &[usize]) -> Vec<&'a Cell> {
    let of = |cell: &Cell| -> Option<Vec<f64>> {
        let values = places.iter().map(|place| {
            let mean = cell.means.get(*place).copied().flatten()?.mean;
            Some(if space.metrics().get(*place)?.better == Better::Higher { -mean } else { mean })
        });
        values.collect()
    };
    let mut all: Vec<(&Cell, Vec<f64>)> =
        cells.iter().filter_map(|cell| Some((cell, of(cell)?))).collect();
    // Sorted by the first goal, then the others: every beaten cell comes after one that beats it.
    all.sort_by(|(_, one), (_, other)| {
        one.iter()
            .zip(other)
            .map(|(a, b)| a.total_cmp(b))
            .find(|it| it.is_ne())
            .map_or(std::cmp::Ordering::Equal, |order| order)
    });
    let mut front: Vec<(&Cell, Vec<f64>)> = vec![];
    for (cell, values) in all {
        let is_beaten = front
            .iter()
            .any(|(_, other)| other.iter().zip(&values).all(|(a, b)| a <= b) && *other != values);
        if !is_beaten {
            front.push((cell, values));
        }
    }
    front.into_iter().map(|(cell, _)| cell).collect()
}
