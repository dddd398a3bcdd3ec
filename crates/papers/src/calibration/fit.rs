//! Fits numbers of a cost model to measurements.
//!
//! What is fitted is named, so is what it is fitted to, and both are written into the machine's
//! description ([`with_calibrated`](schedlab_machine::description::with_calibrated)): a measurement
//! that a model was calibrated on is never again counted as something that the model got right.
//!
//! # The method
//!
//! Each parameter is a positive number within bounds; each measurement gives a ratio, measured to
//! simulated. Sought is the least sum of the squares of the ratios' logarithms, over the
//! parameters' logarithms: so a factor counts the same in either direction, and whether it is of
//! nanoseconds or of seconds. Nothing is known of the simulation but what it comes to. So each
//! parameter in turn is made a little larger to see what it does (a Jacobian by differences), a
//! step is taken where the linear picture is at its best (Levenberg and Marquardt), and as long as
//! steps succeed the picture is only corrected by what they came to (Broyden): a simulation costs
//! much, a look costs one for each parameter. No randomness, no time of day: the same simulation
//! gives the same fit.

/// A number to be fitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// What it is called.
    pub name: String,
    /// Where the search begins.
    pub start: f64,
    /// The least that it may be; above 0.
    pub least: f64,
    /// The most that it may be.
    pub most: f64,
}

impl Parameter {
    /// A parameter that may become up to `factor` times as small or as large as its `start`.
    pub fn within(name: &str, start: f64, factor: f64) -> Parameter {
        Parameter { name: name.into(), start, least: start / factor, most: start * factor }
    }
}

/// When to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// Simulate so often at most.
    pub simulations: u32,
    /// Good enough: every ratio is within this part of 1.
    pub precision: f64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { simulations: 100, precision: 0.001 }
    }
}

/// What came of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// The parameters' values, in their order.
    pub values: Vec<f64>,
    /// Measured to simulated, with these.
    pub ratios: Vec<f64>,
    /// The root of the mean square of the ratios' logarithms: about by what part the simulation is
    /// off.
    pub error: f64,
    /// How often it was simulated.
    pub simulations: u32,
}

/// Why there is no fit.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum CalibrateError<E> {
    /// Bounds that make no sense.
    #[error("{0}: the start must lie between the bounds, and they above 0")]
    Bounds(String),
    /// Nothing to fit, or nothing to fit it to.
    #[error("there must be at least one parameter, and as many measurements as parameters")]
    TooFew,
    /// The simulation came to a ratio that is none.
    #[error("measurement {0} came to a ratio that is not a positive number")]
    Ratio(usize),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(E),
}

/// By how much a parameter's logarithm is changed to see what it does. Simulations step: too
/// little, and there is nothing to see.
const LOOK: f64 = 0.05;

/// Finds values for `parameters` with which the ratios that `simulate` gives, measured to
/// simulated, come as near to 1 as they can.
///
/// # Errors
/// [`CalibrateError`]; what `simulate` returns ends the search.
pub fn fit<E>(
    parameters: &[Parameter],
    effort: Effort,
    mut simulate: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Fit, CalibrateError<E>> {
    for Parameter { name, start, least, most } in parameters {
        let sound = *least > 0.0 && least <= start && start <= most && most.is_finite();
        if !sound {
            return Err(CalibrateError::Bounds(name.clone()));
        }
    }
    let mut simulations = 0;
    let mut look = |at: &[f64]| -> Result<Vec<f64>, CalibrateError<E>> {
        simulations += 1;
        let values = values_of(parameters, at);
        let ratios = simulate(&values).map_err(CalibrateError::Simulation)?;
        match ratios.iter().position(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
            Some(which) => Err(CalibrateError::Ratio(which)),
            None => Ok(ratios.iter().map(|ratio| ratio.ln()).collect()),
        }
    };
    let count = parameters.len();
    let mut at: Vec<f64> = parameters.iter().map(|parameter| parameter.start.ln()).collect();
    let mut off = look(&at)?;
    let mut used = 1;
    if count == 0 || off.len() < count {
        return Err(CalibrateError::TooFew);
    }
    let mut damping = 1e-3;
    let mut picture: Option<Vec<Vec<f64>>> = None;
    let mut fresh = false;
    while used < effort.simulations && off.iter().any(|off| off.abs() > effort.precision) {
        let jacobian = match picture.take() {
            Some(jacobian) => jacobian,
            None => {
                let mut columns = vec![];
                for number in 0..count {
                    let most = parameters[number].most.ln();
                    let step = if at[number] + LOOK > most { -LOOK } else { LOOK };
                    let mut beside = at.clone();
                    beside[number] += step;
                    let seen = look(&beside)?;
                    used += 1;
                    columns.push(
                        seen.iter().zip(&off).map(|(seen, off)| (seen - off) / step).collect(),
                    );
                }
                fresh = true;
                columns
            }
        };
        let step = damped_step(&jacobian, &off, damping);
        let there: Vec<f64> = (at.iter().zip(&step).zip(parameters))
            .map(|((at, step), parameter)| {
                (at + step).clamp(parameter.least.ln(), parameter.most.ln())
            })
            .collect();
        let moved: Vec<f64> = there.iter().zip(&at).map(|(there, at)| there - at).collect();
        let length = square(&moved);
        if length < 1e-12 {
            // As far as it goes: at the bounds, or at the bottom.
            if fresh {
                break;
            }
            continue;
        }
        let seen = look(&there)?;
        used += 1;
        if square(&seen) < square(&off) {
            let little = square(&off) - square(&seen) < 1e-6 * square(&off);
            picture = Some(corrected(jacobian, &off, &seen, &moved));
            (at, off) = (there, seen);
            damping = (damping / 4.0).max(1e-9);
            if little && fresh {
                break;
            }
            fresh = false;
        } else if fresh {
            // The picture is as good as it gets here: a shorter step.
            if damping > 1e6 {
                break;
            }
            damping *= 8.0;
            picture = Some(jacobian);
        }
        // Else a new picture.
    }
    Ok(Fit {
        values: values_of(parameters, &at),
        ratios: off.iter().map(|off| off.exp()).collect(),
        error: (square(&off) / off.len() as f64).sqrt(),
        simulations: used,
    })
}

fn values_of(parameters: &[Parameter], at: &[f64]) -> Vec<f64> {
    let bounded =
        |(at, parameter): (&f64, &Parameter)| at.exp().clamp(parameter.least, parameter.most);
    at.iter().zip(parameters).map(bounded).collect()
}

fn square(of: &[f64]) -> f64 {
    of.iter().map(|x| x * x).sum()
}

/// What a step has shown put into the picture: from `off` to `seen` by `moved`.
fn corrected(
    mut jacobian: Vec<Vec<f64>>,
    off: &[f64],
    seen: &[f64],
    moved: &[f64],
) -> Vec<Vec<f64>> {
    let length = square(moved);
    let foreseen: Vec<f64> = (0..off.len())
        .map(|row| {
            off[row]
                + jacobian.iter().zip(moved).map(|(column, moved)| column[row] * moved).sum::<f64>()
        })
        .collect();
    for (column, moved) in jacobian.iter_mut().zip(moved) {
        for ((slope, seen), foreseen) in column.iter_mut().zip(seen).zip(&foreseen) {
            *slope += (seen - foreseen) * moved / length;
        }
    }
    jacobian
}

/// The step to where the linear picture is at its best, held back by `damping`: solves (J'J +
/// damping (diag J'J + 1e-9)) step = -J'off. `jacobian` by columns, one a parameter.
fn damped_step(jacobian: &[Vec<f64>], off: &[f64], damping: f64) -> Vec<f64> {
    let count = jacobian.len();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut rows: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let mut row: Vec<f64> = (0..count).map(|j| dot(&jacobian[i], &jacobian[j])).collect();
            row[i] += damping * (row[i] + 1e-9) + 1e-12;
            row.push(-dot(&jacobian[i], off));
            row
        })
        .collect();
    // Gauss, with the largest pivot.
    for column in 0..count {
        let best = (column..count)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, best.unwrap_or(column));
        let pivot = rows[column].clone();
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / pivot[column];
            for (cell, pivot) in row.iter_mut().zip(&pivot).skip(column) {
                *cell -= factor * pivot;
            }
        }
    }
    let mut step = vec![0.0; count];
    for i in (0..count).rev() {
        let known: f64 = ((i + 1)..count).map(|j| rows[i][j] * step[j]).sum();
        step[i] = (rows[i][count] - known) / rows[i][i];
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn ratios(measured: &[f64], simulated: &[f64]) -> Result<Vec<f64>, Infallible> {
        Ok(measured
            .iter()
            .zip(simulated)
            .map(|(measured, simulated)| measured / simulated)
            .collect())
    }

    /// 2.4's and 2.6's time for a message by number of groups: a line and a constant.
    fn line(values: &[f64]) -> [f64; 4] {
        [50.0, 100.0, 150.0, 200.0].map(|groups| values[0] + values[1] * groups)
    }

    #[test]
    fn what_made_the_measurements_is_found_again() {
        let measured = line(&[5.5, 0.042]);
        let parameters = [Parameter::within("a", 1.0, 100.0), Parameter::within("b", 1.0, 1000.0)];
        let fit =
            fit(&parameters, Effort::default(), |values| ratios(&measured, &line(values))).unwrap();
        assert!((fit.values[0] / 5.5 - 1.0).abs() < 0.01, "{fit:?}");
        assert!((fit.values[1] / 0.042 - 1.0).abs() < 0.01, "{fit:?}");
        assert!(fit.error < 0.001 && fit.simulations < 40, "{fit:?}");
    }

    #[test]
    fn what_cannot_be_met_is_come_near_to() {
        // Published: microseconds a message under 2.4.18 on one CPU.
        let measured = [7.76, 9.41, 12.39, 13.83];
        let parameters = [Parameter::within("a", 1.0, 100.0), Parameter::within("b", 1.0, 1000.0)];
        let fit =
            fit(&parameters, Effort::default(), |values| ratios(&measured, &line(values))).unwrap();
        assert!(fit.error > 0.01 && fit.error < 0.05, "{fit:?}");
        // No neighbour is better.
        for (number, factor) in [(0, 1.02), (0, 0.98), (1, 1.02), (1, 0.98)] {
            let mut values = fit.values.clone();
            values[number] *= factor;
            let beside = ratios(&measured, &line(&values)).unwrap();
            let error = (beside.iter().map(|ratio| ratio.ln().powi(2)).sum::<f64>() / 4.0).sqrt();
            assert!(error >= fit.error - 1e-6, "{values:?} {error} {fit:?}");
        }
    }

    #[test]
    fn bounds_hold() {
        let parameters = [Parameter { name: "a".into(), start: 1.0, least: 0.5, most: 2.0 }];
        let fit =
            fit(&parameters, Effort::default(), |values| ratios(&[10.0], &[values[0]])).unwrap();
        assert_eq!(fit.values, [2.0]);
    }

    #[test]
    fn one_that_does_nothing_does_no_harm() {
        let parameters = [Parameter::within("a", 1.0, 100.0), Parameter::within("idle", 1.0, 10.0)];
        let simulate = |values: &[f64]| ratios(&[10.0, 20.0], &[values[0], 2.0 * values[0]]);
        let fit = fit(&parameters, Effort::default(), simulate).unwrap();
        assert!((fit.values[0] - 10.0).abs() < 0.1, "{fit:?}");
    }

    #[test]
    fn simulations_that_step_are_no_obstacle() {
        // Whole ticks only.
        let steps = |value: f64| (value * 40.0).ceil() / 40.0;
        let parameters = [Parameter::within("a", 1.0, 100.0)];
        let simulate = |values: &[f64]| ratios(&[7.0], &[steps(values[0])]);
        let fit =
            fit(&parameters, Effort { precision: 0.01, ..Effort::default() }, simulate).unwrap();
        assert!((fit.values[0] - 7.0).abs() < 0.1, "{fit:?}");
    }

    #[test]
    fn the_effort_is_kept_and_the_same_search_finds_the_same() {
        let measured = line(&[5.5, 0.042]);
        let parameters = [Parameter::within("a", 1.0, 100.0), Parameter::within("b", 1.0, 1000.0)];
        let few = Effort { simulations: 7, precision: 0.0 };
        let search = || fit(&parameters, few, |values| ratios(&measured, &line(values))).unwrap();
        assert!(search().simulations <= 7 + 2);
        assert_eq!(search(), search());
    }

    #[test]
    fn nonsense_is_refused() {
        let simulate = |values: &[f64]| ratios(&[1.0], &[values[0]]);
        let parameter = |start, least, most| Parameter { name: "a".into(), start, least, most };
        for wrong in
            [parameter(1.0, 0.0, 2.0), parameter(3.0, 1.0, 2.0), parameter(1.0, 0.5, f64::INFINITY)]
        {
            let error = fit(&[wrong], Effort::default(), simulate).unwrap_err();
            assert_eq!(error, CalibrateError::Bounds("a".into()));
        }
        let two = [parameter(1.0, 0.5, 2.0), parameter(1.0, 0.5, 2.0)];
        assert_eq!(fit(&two, Effort::default(), simulate).unwrap_err(), CalibrateError::TooFew);
        let zero = |_: &[f64]| Ok::<_, Infallible>(vec![0.0]);
        assert_eq!(fit(&two[..1], Effort::default(), zero).unwrap_err(), CalibrateError::Ratio(0));
    }
}
