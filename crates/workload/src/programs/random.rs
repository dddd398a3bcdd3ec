//! Random draws of programs. Each task has its own stream, so the decisions of a scheduler do not
//! change the draws of other tasks.
//!
//! Logarithms and cosines come from a software library, because the results of the machine's own
//! functions differ in the last bits between systems.

use schedlab_core::TaskId;
use schedlab_machine::order::SplitMix64;

/// Stream of random draws of a task.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates the stream of `task` in the run of `seed`.
    pub fn new(seed: u64, task: TaskId) -> Random {
        let mut of_run = SplitMix64::new(seed);
        Random(SplitMix64::new(
            of_run.next_u64() ^ u64::from(task.0).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Draws an integer from 0 to `bound` - 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Draws a uniform number, at least 0 and less than 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    /// Draws from the exponential distribution with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Draws from the normal distribution with the given mean and standard deviation.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        // Box and Muller's method. The second value is discarded, so that the stream has no hidden
        // state.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        mean + deviation * radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }

    /// Draws from the lognormal distribution: the exponential of a normal with mean `mu` and
    /// standard deviation `sigma`.
    pub fn lognormal(&mut self, mu: f64, sigma: f64) -> f64 {
        libm::exp(self.normal(mu, sigma))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(draw: impl FnMut(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(1, TaskId(7));
        let mut draw = draw;
        (0..100_000).map(|_| draw(&mut random)).sum::<f64>() / 100_000.0
    }

    #[test]
    fn draws_have_the_means_that_they_should() {
        assert!((mean(Random::uniform) - 0.5).abs() < 0.01);
        assert!((mean(|random| random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(|random| random.normal(10.0, 1.0)) - 10.0).abs() < 0.02);
        assert!((mean(|random| random.normal(0.0, 2.0).powi(2)) - 4.0).abs() < 0.1);
        // The mean of a lognormal is exp(mu + sigma^2 / 2).
        let mu = 350f64.ln() - 0.18;
        assert!((mean(|random| random.lognormal(mu, 0.6)) - 350.0).abs() < 5.0);
    }

    #[test]
    fn streams_differ_by_task_and_by_seed() {
        let first = |seed, task| Random::new(seed, TaskId(task)).below(u64::MAX);
        assert_eq!(first(1, 1), first(1, 1));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }
}
