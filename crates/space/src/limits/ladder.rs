//! The limits that are tried: [`Ladder`].

use super::figures::Figure;
use super::limit::{LEAST_US, Limit, QuotaSize};
use super::line::{Cell, Criterion, Line};

/// Least limit that is tried, in proportion to the group's mean demand.
const LOWEST: f64 = 0.7;

/// Factor between limits, before more are tried around the answer.
const STEP: f64 = 1.2;

/// Quotas for a period and a burst.
pub(super) struct Ladder {
    pub cpus: u32,
    pub period_us: u64,
    pub burst_us: u64,
}

impl Ladder {
    fn limit(&self, quota_us: u64) -> Limit {
        let Ladder { period_us, burst_us, .. } = *self;
        Limit { quota_us: Some(quota_us), period_us, burst_us }
    }

    /// Returns the limit of this percentage of a CPU, as near as the kernel takes it.
    fn percent(&self, percent: u64) -> Limit {
        self.limit(percent * self.period_us / 100)
    }

    /// Returns the least percentage of a CPU that the kernel takes.
    fn lowest(&self) -> u64 {
        (LEAST_US.max(self.burst_us) * 100).div_ceil(self.period_us)
    }

    /// Runs the quotas that were given. Returns notes about those that the kernel would refuse.
    pub fn try_given(
        &self,
        line: &mut Line,
        quotas: &[QuotaSize],
        run: &impl Fn(Limit) -> Result<Cell, String>,
    ) -> Result<Vec<String>, String> {
        let mut notes = vec![];
        let mut all: Vec<u64> = quotas.iter().map(|it| it.quota_us(self.period_us)).collect();
        all.sort_unstable();
        all.dedup();
        for quota_us in all {
            let refused = if quota_us < LEAST_US {
                "less than the kernel takes, 1 ms"
            } else if quota_us < self.burst_us {
                "less than the burst, which the kernel refuses"
            } else {
                line.cells.push(run(self.limit(quota_us))?);
                continue;
            };
            notes.push(format!(
                "left out: {quota_us} us of {} us with a burst of {} us: {refused}",
                self.period_us, self.burst_us
            ));
        }
        Ok(notes)
    }

    /// Runs limits from less than the group's mean demand up to one that never throttles it, then
    /// more around the least that holds `criterion`, to a percent of a CPU.
    pub fn climb(
        &self,
        line: &mut Line,
        criterion: &Criterion,
        run: &impl Fn(Limit) -> Result<Cell, String>,
    ) -> Result<(), String> {
        let demand = line.unlimited.median(Figure::Cpus).unwrap_or(0.0) * 100.0;
        let most = (u64::from(self.cpus) * 100).max(self.lowest());
        let low = ((demand * LOWEST) as u64).clamp(self.lowest(), most);
        let mut cells: Vec<(u64, Cell)> = vec![];
        let add = |cells: &mut Vec<(u64, Cell)>, percent: u64| -> Result<usize, String> {
            match cells.binary_search_by_key(&percent, |(percent, _)| *percent) {
                Ok(place) => Ok(place),
                Err(place) => {
                    cells.insert(place, (percent, run(self.percent(percent))?));
                    Ok(place)
                }
            }
        };
        // A limit of all CPUs cannot be used up.
        let mut percent = low;
        loop {
            let place = add(&mut cells, percent)?;
            if cells[place].1.is_never_throttled() || percent == most {
                break;
            }
            percent = (percent + 1).max((percent as f64 * STEP).round() as u64).min(most);
        }
        // Halves the interval below the least that holds the criterion.
        loop {
            line.cells = cells.iter().map(|(_, cell)| cell.clone()).collect();
            let Some(place) = line.least(criterion) else { break };
            let upper = cells[place].0;
            let lower = match place {
                0 => break,
                place => cells[place - 1].0,
            };
            if upper - lower <= 1 + upper / 100 {
                break;
            }
            add(&mut cells, u64::midpoint(lower, upper))?;
        }
        Ok(())
    }
}
