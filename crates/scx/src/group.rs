//! Task groups as the class keeps them.

/// A group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Its parent group. The root is its own parent.
    pub parent: u32,
    /// Its depth. 0 for the root.
    pub level: u32,
    /// `cpu.shares`.
    pub shares: u64,
}

/// Returns the `cpu.weight` of a group.
pub fn group_weight(shares: u64) -> u64 {
    (shares.saturating_mul(100) / 1024).clamp(1, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_groups_are_those_of_the_specification() {
        assert_eq!([1024, 2048, 2, 1 << 20].map(group_weight), [100, 200, 1, 10_000]);
    }
}
