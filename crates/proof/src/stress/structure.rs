//! Random machines with structure: threads, shared caches, packages, nodes.

use schedlab_core::Topology;
use schedlab_machine::SplitMix64;
use schedlab_machine::description::{Description, parse_topology};

/// Structure of a world's CPUs.
#[derive(Clone, PartialEq, Debug)]
pub struct Structure {
    /// Text of the topology in a description of a machine, behind `"topology":`.
    pub text: String,
    /// The parsed topology.
    pub topology: Topology,
}

/// Parts of a machine, from the outermost to the innermost.
const LEVELS: [&str; 5] = ["nodes", "packages", "caches", "cores", "threads"];
const NODES: usize = 0;
const CORES: usize = 3;

/// Maximum number of parts in the next larger part, with no limit on cores: nodes, packages of a
/// node, caches of a package, cores of a cache, threads of a core.
const MOST: [u32; 5] = [8, 4, 4, u32::MAX, 4];

impl Structure {
    /// Returns a machine of exactly `cpus` CPUs. Each prime factor of the number becomes the number
    /// of parts of some kind.
    pub fn random(random: &mut SplitMix64, cpus: u32) -> Structure {
        let mut parts = [1_u32; LEVELS.len()];
        for factor in prime_factors(cpus) {
            let level = random.below(LEVELS.len() as u64) as usize;
            let level = if parts[level] * factor <= MOST[level] { level } else { CORES };
            parts[level] *= factor;
        }
        let counts: Vec<String> =
            LEVELS.iter().zip(parts).map(|(name, count)| format!("\"{name}\": {count}")).collect();
        let numbering = ["siblings_apart", "siblings_together", "packages_alternate"];
        let numbering = numbering[random.below(3) as usize];
        let mut text =
            format!("{{\"regular\": {{{}, \"numbering\": \"{numbering}\"}}", counts.join(", "));
        if parts[NODES] > 1 && random.below(2) == 0 {
            text += &format!(", \"distances\": {}", distances(random, parts[NODES] as usize));
        }
        text += "}";
        let topology = parse_topology(&text)
            .unwrap_or_else(|(place, message)| panic!("{text}: {place}: {message}"));
        Structure { text, topology }
    }

    /// Returns a file that describes the machine.
    pub fn file(&self, name: &str) -> String {
        format!(
            "{{\n  \"format\": 1,\n  \"name\": \"{name}\",\n  \"about\": \"a random machine\",\n  \
             \"source\": \"schedlab stress\",\n  \"topology\": {}\n}}\n",
            self.text
        )
    }

    /// Returns the machine, with all costs 0.
    pub fn description(&self) -> Description {
        Description {
            name: "random".into(),
            about: "a random machine".into(),
            source: "schedlab stress".into(),
            topology: self.topology.clone(),
            hz: None,
            tick_phase_ns: None,
            costs: None,
            numbers: vec![],
        }
    }
}

fn prime_factors(mut number: u32) -> Vec<u32> {
    let mut factors = vec![];
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

/// Distances between `nodes`, equal in both directions, as firmware reports them.
fn distances(random: &mut SplitMix64, nodes: usize) -> String {
    const USUAL: [u32; 6] = [11, 15, 16, 20, 21, 32];
    let mut table = vec![vec![10; nodes]; nodes];
    let pairs = (0..nodes).flat_map(|one| (0..one).map(move |other| (one, other)));
    for (one, other) in pairs {
        let distance = USUAL[random.below(USUAL.len() as u64) as usize];
        table[one][other] = distance;
        table[other][one] = distance;
    }
    format!("{table:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_as_many_cpus_as_asked_for_and_all_kinds_of_parts() {
        let mut random = SplitMix64::new(1);
        let (mut with_nodes, mut with_threads, mut with_caches) = (0, 0, 0);
        for cpus in (1..=64).chain([96, 128, 256]) {
            let structure = Structure::random(&mut random, cpus);
            assert_eq!(structure.topology.cpus(), cpus);
            with_nodes += u32::from(structure.topology.nodes() > 1);
            with_threads += u32::from(!structure.text.contains("\"threads\": 1,"));
            with_caches += u32::from(!structure.text.contains("\"caches\": 1,"));
            let read = Description::parse("m", &structure.file("m"))
                .expect("the description is well formed");
            assert_eq!(read.topology, structure.topology);
        }
        assert!(with_nodes > 10 && with_threads > 10 && with_caches > 10);
    }

    #[test]
    fn numbers_fall_into_their_prime_factors() {
        assert!(prime_factors(1).is_empty());
        assert_eq!(prime_factors(12), [2, 2, 3]);
        assert_eq!(prime_factors(251), [251]);
    }
}
