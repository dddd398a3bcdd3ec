//! The effect of nice on deadlines.

/// `prio_ratios`: factors of the deadline distance, by nice from -20 to 19. Each is 10 % more than
/// the one before, truncated.
pub const fn prio_ratios(first: i64) -> [i64; 40] {
    let mut ratios = [first; 40];
    let mut level = 1;
    while level < 40 {
        ratios[level] = ratios[level - 1] * 11 / 10;
        level += 1;
    }
    ratios
}
