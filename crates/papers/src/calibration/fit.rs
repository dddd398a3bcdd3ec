//! Fits numbers of a cost model to measurements.
//!
//! The fitted numbers and the measurements that they were fitted to are written into the machine's
//! description ([`with_calibrated`](schedlab_machine::description::with_calibrated)). A measurement
//! that a model was calibrated on never counts as a success of the model.
//!
//! # The method
//!
//! Each parameter is a positive number within bounds. Each measurement gives a ratio, measured to
//! simulated. The search minimises the sum of the squares of the ratios' logarithms over the
//! parameters' logarithms. So a factor counts the same in either direction, and the unit does not
//! matter. The simulation is a black box. Therefore each parameter in turn is made a little larger
//! to observe the effect (a Jacobian by differences), and a step goes to the minimum of the linear
//! model (Levenberg and Marquardt). As long as steps succeed, the model is only corrected by their
//! results (Broyden), because a simulation is expensive and a new Jacobian takes one for each
//! parameter. The search uses no randomness and no time of day: the same simulation gives the same
//! fit.

/// A number to fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Value at which the search starts.
    pub start: f64,
    /// The smallest permitted value; above 0.
    pub least: f64,
    /// The largest permitted value.
    pub most: f64,
}

impl Parameter {
    /// Returns a parameter that may change from its `start` by up to `factor` in either direction.
    pub fn within(name: &str, start: f64, factor: f64) -> Parameter {
        Parameter { name: name.into(), start, least: start / factor, most: start * factor }
    }
}

/// Limits of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// Maximum number of simulations.
    pub simulations: u32,
    /// Precision that is sufficient: every ratio is within this fraction of 1.
    pub precision: f64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { simulations: 100, precision: 0.001 }
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// The parameters' values, in their order.
    pub values: Vec<f64>,
    /// The ratios, measured to simulated, with these values.
    pub ratios: Vec<f64>,
    /// The root of the mean square of the ratios' logarithms: approximately the relative error of
    /// the simulation.
    pub error: f64,
    /// Number of simulations.
    pub simulations: u32,
}

/// Reason why there is no fit.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum CalibrateError<E> {
    /// The bounds are inconsistent.
    #[error("{0}: the bounds must be above 0, and the start between them")]
    Bounds(String),
    /// There are no parameters, or too few measurements.
    #[error("there must be at least one parameter, and at least as many measurements")]
    TooFew,
    /// The simulation returned an invalid ratio.
    #[error("the ratio of measurement {0} is not a positive number")]
    Ratio(usize),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(E),
}

/// Change of a parameter's logarithm by which its effect is observed. Simulations are not smooth: a
/// smaller change might have no effect.
const PROBE_STEP: f64 = 0.05;

/// Finds values for `parameters` with which the ratios that `simulate` returns, measured to
/// simulated, are as close to 1 as possible.
///
/// # Errors
/// [`CalibrateError`]; an error of `simulate` ends the search.
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
    let mut evaluate = |at: &[f64]| -> Result<Vec<f64>, CalibrateError<E>> {
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
    let mut off = evaluate(&at)?;
    let mut used = 1;
    if count == 0 || off.len() < count {
        return Err(CalibrateError::TooFew);
    }
    let mut damping = 1e-3;
    let mut model: Option<Vec<Vec<f64>>> = None;
    let mut fresh = false;
    while used < effort.simulations && off.iter().any(|off| off.abs() > effort.precision) {
        let jacobian = match model.take() {
            Some(jacobian) => jacobian,
            None => {
                let mut columns = vec![];
                for number in 0..count {
                    let most = parameters[number].most.ln();
                    let step =
                        if at[number] + PROBE_STEP > most { -PROBE_STEP } else { PROBE_STEP };
                    let mut shifted = at.clone();
                    shifted[number] += step;
                    let results = evaluate(&shifted)?;
                    used += 1;
                    columns.push(
                        results
                            .iter()
                            .zip(&off)
                            .map(|(results, off)| (results - off) / step)
                            .collect(),
                    );
                }
                fresh = true;
                columns
            }
        };
        let step = damped_step(&jacobian, &off, damping);
        let next: Vec<f64> = (at.iter().zip(&step).zip(parameters))
            .map(|((at, step), parameter)| {
                (at + step).clamp(parameter.least.ln(), parameter.most.ln())
            })
            .collect();
        let moved: Vec<f64> = next.iter().zip(&at).map(|(next, at)| next - at).collect();
        let length = square(&moved);
        if length < 1e-12 {
            // No further progress: at the bounds, or at the minimum.
            if fresh {
                break;
            }
            continue;
        }
        let results = evaluate(&next)?;
        used += 1;
        if square(&results) < square(&off) {
            let little = square(&off) - square(&results) < 1e-6 * square(&off);
            model = Some(corrected(jacobian, &off, &results, &moved));
            (at, off) = (next, results);
            damping = (damping / 4.0).max(1e-9);
            if little && fresh {
                break;
            }
            fresh = false;
        } else if fresh {
            // The model cannot be improved here, so the step must be shorter.
            if damping > 1e6 {
                break;
            }
            damping *= 8.0;
            model = Some(jacobian);
        }
        // Otherwise, a new Jacobian is computed.
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

/// Corrects the Jacobian by the result of a step: from `off` to `results` by `moved`.
fn corrected(
    mut jacobian: Vec<Vec<f64>>,
    off: &[f64],
    results: &[f64],
    moved: &[f64],
) -> Vec<Vec<f64>> {
    let length = square(moved);
    let predicted: Vec<f64> = (0..off.len())
        .map(|row| {
            off[row]
                + jacobian.iter().zip(moved).map(|(column, moved)| column[row] * moved).sum::<f64>()
        })
        .collect();
    for (column, moved) in jacobian.iter_mut().zip(moved) {
        for ((slope, results), predicted) in column.iter_mut().zip(results).zip(&predicted) {
            *slope += (results - predicted) * moved / length;
        }
    }
    jacobian
}

/// Returns the step to the minimum of the linear model, limited by `damping`: solves (J'J + damping
/// (diag J'J + 1e-9)) step = -J'off. `jacobian` has a column for each parameter.
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
    // Gaussian elimination with the largest pivot.
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

    /// Returns the time for a message by number of groups under 2.4 and 2.6: a line and a constant.
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
        // Published: microseconds per message under 2.4.18 on one CPU.
        let measured = [7.76, 9.41, 12.39, 13.83];
        let parameters = [Parameter::within("a", 1.0, 100.0), Parameter::within("b", 1.0, 1000.0)];
        let fit =
            fit(&parameters, Effort::default(), |values| ratios(&measured, &line(values))).unwrap();
        assert!(fit.error > 0.01 && fit.error < 0.05, "{fit:?}");
        // No neighbour is better.
        for (number, factor) in [(0, 1.02), (0, 0.98), (1, 1.02), (1, 0.98)] {
            let mut values = fit.values.clone();
            values[number] *= factor;
            let shifted = ratios(&measured, &line(&values)).unwrap();
            let error = (shifted.iter().map(|ratio| ratio.ln().powi(2)).sum::<f64>() / 4.0).sqrt();
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
