//! What came of a space: the means over seeds with their confidence intervals, the best point, and
//! the points that no other beats in everything (the Pareto front).

use super::{Row, Space};
use schedlab_measure::Better;
use std::collections::BTreeMap;

/// A metric over the seeds of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// How many runs have a value.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean, by Student's t; none of a single run. It
    /// is of what the seeds vary, and supposes that values over seeds are about normal.
    pub half_width: Option<f64>,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Mean {
    /// Of some values; none of none.
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

/// The 97.5 % quantile of Student's t with so many degrees of freedom.
pub fn t_95(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739,
        2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        // Cornish and Fisher's expansion about the normal quantile; right to 4 digits here.
        _ => {
            let (z, n) = (1.959_964_f64, freedom as f64);
            let (z3, z5) = (z * z * z, z * z * z * z * z);
            z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        }
    }
}

/// A point under a scheduler, over its seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The number of the point.
    pub point: u64,
    /// Who ran it.
    pub scheduler: String,
    /// What is told, in the order asked for.
    pub means: Vec<Option<Mean>>,
    /// How many of its runs came to nothing.
    pub failed: usize,
}

/// Rows as they come in, over seeds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    cells: BTreeMap<(u64, String), Gathered>,
}

#[derive(Clone, Debug, Default)]
struct Gathered {
    values: Vec<Vec<(u64, f64)>>,
    failed: usize,
}

impl Summary {
    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        let gathered = self.cells.entry((row.point, row.scheduler.clone())).or_default();
        gathered.failed += usize::from(row.error.is_some());
        gathered.values.resize(row.values.len(), vec![]);
        for (list, value) in gathered.values.iter_mut().zip(&row.values) {
            list.extend(value.map(|value| (row.repetition, value)));
        }
    }

    /// All of them, by point.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |((point, scheduler), gathered): (&(u64, String), &Gathered)| {
            let mean = |list: &Vec<(u64, f64)>| {
                // In the order of the seeds, in whichever they came: sums are the same to the bit.
                let mut list = list.clone();
                list.sort_by_key(|(repetition, _)| *repetition);
                Mean::of(&list.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
            };
            let means = gathered.values.iter().map(mean).collect();
            let (point, scheduler) = (*point, scheduler.clone());
            Cell { point, scheduler, means, failed: gathered.failed }
        };
        self.cells.iter().map(cell).collect()
    }
}

/// Which of two values is the better one, if it can be said which.
fn beats(better: Better, one: f64, other: f64) -> bool {
    match better {
        Better::Lower => one < other,
        Better::Higher => one > other,
        Better::Neither => false,
    }
}

/// The best of `cells` by what is told at `place`; none where it cannot be said, or none has it.
pub fn best<'a>(space: &Space, cells: &'a [Cell], place: usize) -> Option<&'a Cell> {
    let better = space.told().get(place)?.better;
    let mut best: Option<(&Cell, f64)> = None;
    for cell in cells {
        let Some(mean) = cell.means.get(place).copied().flatten() else { continue };
        if best.is_none_or(|(_, value)| beats(better, mean.mean, value)) {
            best = Some((cell, mean.mean));
        }
    }
    best.filter(|_| better != Better::Neither).map(|(cell, _)| cell)
}

/// Those of `cells` that no other beats in one of `places` without losing in another.
pub fn pareto<'a>(space: &Space, cells: &'a [Cell], places: &[usize]) -> Vec<&'a Cell> {
    let of = |cell: &Cell| -> Option<Vec<f64>> {
        let values = places.iter().map(|place| {
            let mean = cell.means.get(*place).copied().flatten()?.mean;
            Some(if space.told().get(*place)?.better == Better::Higher { -mean } else { mean })
        });
        values.collect()
    };
    let mut all: Vec<(&Cell, Vec<f64>)> =
        cells.iter().filter_map(|cell| Some((cell, of(cell)?))).collect();
    // By the first goal, then the others: whoever is beaten is so by one before it.
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
