//! A limit in the words of the places where people set it: [`words`].

use super::limit::{LEAST_US, Limit};

/// A limit in the words of one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// The place: `cgroup`, `systemd`, `docker`, `oci` or `kubernetes`.
    pub place: &'static str,
    /// Lines to write there.
    pub lines: Vec<String>,
    /// Limitations of the place, and effects on other groups.
    pub notes: Vec<String>,
}

/// Period of Docker's `--cpus`, and of a kubelet without other configuration, us.
const PERIOD_US: u64 = 100_000;

/// Returns `limit`, which has a quota, in the words of each place.
pub fn words(limit: &Limit) -> Vec<Words> {
    let Some(quota_us) = limit.quota_us else { return vec![] };
    let has_burst = limit.burst_us > 0;
    let burst = |line: String| has_burst.then_some(line);
    let no_burst = |note: &str| burst(note.to_string()).into_iter().collect::<Vec<_>>();
    let mut all = vec![];

    let mut lines = vec![format!("cpu.max: {}", limit.cpu_max())];
    lines.extend(burst(format!("cpu.max.burst: {}", limit.burst_us)));
    all.push(Words { place: "cgroup", lines, notes: vec![] });

    let percent = (quota_us * 100).div_ceil(limit.period_us);
    let mut notes = vec![];
    if percent * limit.period_us != quota_us * 100 {
        notes.push("rounded up to whole percent".into());
    }
    notes.extend(no_burst("no setting for a burst: write cpu.max.burst"));
    let mut lines = vec![format!("CPUQuota={percent}%")];
    if limit.period_us != PERIOD_US {
        lines.push(format!("CPUQuotaPeriodSec={}", time(limit.period_us)));
    }
    all.push(Words { place: "systemd", lines, notes });

    let mut lines = vec![format!("--cpu-period {} --cpu-quota {quota_us}", limit.period_us)];
    if limit.period_us == PERIOD_US {
        lines.insert(0, format!("--cpus {}", trimmed(quota_us as f64 / limit.period_us as f64)));
    }
    let notes = no_burst("no option for a burst: write cpu.max.burst");
    all.push(Words { place: "docker", lines, notes });

    let burst_field =
        if has_burst { format!(", \"burst\": {}", limit.burst_us) } else { String::new() };
    all.push(Words {
        place: "oci",
        lines: vec![format!(
            "\"linux\": {{\"resources\": {{\"cpu\": {{\"quota\": {quota_us}, \"period\": {}{burst_field}}}}}}}",
            limit.period_us
        )],
        notes: vec![],
    });

    let milli = (quota_us * 1000).div_ceil(limit.period_us);
    let mut notes = no_burst("a burst cannot be set; find a limit without (--burst 0)");
    if limit.period_us == PERIOD_US {
        notes.insert(0, "with the kubelet's default period of 100ms".into());
    } else {
        notes.insert(
            0,
            format!(
                "needs cpuCFSQuotaPeriod: {} in the kubelet's configuration (feature gate \
                 CustomCPUCFSQuotaPeriod), which applies to all pods of the node",
                time(limit.period_us)
            ),
        );
    }
    if milli * limit.period_us / 1000 < LEAST_US {
        notes.push("the kubelet sets at least 1000 us".into());
    }
    let lines = vec![format!("resources.limits.cpu: {milli}m")];
    all.push(Words { place: "kubernetes", lines, notes });
    all
}

/// Formats a time with the largest unit in which it is whole.
fn time(us: u64) -> String {
    if us.is_multiple_of(1000) { format!("{}ms", us / 1000) } else { format!("{us}us") }
}

/// Formats a number without zeros at its end.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.5}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limit: Limit) -> Vec<String> {
        words(&limit).iter().map(|it| format!("{} {}", it.place, it.lines.join(" "))).collect()
    }

    #[test]
    fn every_place_has_its_words() {
        let usual = Limit { quota_us: Some(35_000), period_us: 100_000, burst_us: 0 };
        assert_eq!(
            lines(usual),
            [
                "cgroup cpu.max: 35000 100000",
                "systemd CPUQuota=35%",
                "docker --cpus 0.35 --cpu-period 100000 --cpu-quota 35000",
                r#"oci "linux": {"resources": {"cpu": {"quota": 35000, "period": 100000}}}"#,
                "kubernetes resources.limits.cpu: 350m",
            ]
        );
        assert_eq!(words(&usual)[4].notes, ["with the kubelet's default period of 100ms"]);
        let short = Limit { quota_us: Some(7_010), period_us: 20_000, burst_us: 5_000 };
        assert_eq!(
            lines(short),
            [
                "cgroup cpu.max: 7010 20000 cpu.max.burst: 5000",
                "systemd CPUQuota=36% CPUQuotaPeriodSec=20ms",
                "docker --cpu-period 20000 --cpu-quota 7010",
                r#"oci "linux": {"resources": {"cpu": {"quota": 7010, "period": 20000, "burst": 5000}}}"#,
                "kubernetes resources.limits.cpu: 351m",
            ]
        );
        let notes: Vec<usize> = words(&short).iter().map(|it| it.notes.len()).collect();
        assert_eq!(notes, [0, 2, 1, 0, 2]);
        assert_eq!(words(&Limit::NONE), []);
    }
}
