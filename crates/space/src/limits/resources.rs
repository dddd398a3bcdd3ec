//! Limits of containers as Kubernetes manifests and compose files have them: [`Resources`].

use super::limit::{LEAST_US, Limit, PERIOD_MAX_US, time_us};
use super::yaml::{self, Node};
use schedlab_workload::close_names;
use std::rc::Rc;

/// Period of Docker's `cpus`, and of a kubelet without other configuration, us.
const PERIOD_US: u64 = 100_000;

/// Quotas are smaller, us.
const QUOTA_END_US: u64 = 1 << 44;

/// Least weight of a group (`cpu.shares`).
const SHARES_MIN: u64 = 2;

/// Largest weight of a group (`cpu.shares`).
const SHARES_MAX: u64 = 262_144;

/// Resources of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    /// Place in the file: `deploy.yaml:12`.
    pub place: String,
    /// Name of the container.
    pub container: String,
    /// The limit. `None`: there is none.
    pub limit: Option<Limit>,
    /// CPU weight (`cpu.shares`). `None`: none is set.
    pub shares: Option<u64>,
}

/// A container in a file.
struct Container {
    name: String,
    line: usize,
    node: Rc<Node>,
    is_compose: bool,
}

impl Resources {
    /// Reads the resources of a container from a Kubernetes manifest (Pod, Deployment and other
    /// kinds with a pod template) or a compose file. `container`: its name. `None`: the only one.
    ///
    /// # Errors
    /// The text is no such file, there is no such container, or its resources are malformed. The
    /// message names file and line.
    pub fn parse(file: &str, text: &str, container: Option<&str>) -> Result<Resources, String> {
        let documents =
            yaml::documents(text).map_err(|(line, what)| format!("{file}:{line}: {what}"))?;
        let mut all = vec![];
        documents.iter().for_each(|document| find_containers(document, &mut all));
        let names = || all.iter().map(|it| it.name.as_str());
        let list = || {
            let each = all.iter().map(|it| format!("{} (line {})", it.name, it.line));
            each.collect::<Vec<_>>().join(", ")
        };
        let own = match (container, all.as_slice()) {
            (_, []) => {
                return Err(format!(
                    "{file}: there is no container: write a Kubernetes manifest of a Pod, \
                     Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob, or a compose \
                     file with `services`"
                ));
            }
            (None, [one]) => one,
            (None, _) => {
                return Err(format!(
                    "{file}: there are several containers: {}; name one with --container",
                    list()
                ));
            }
            (Some(name), _) => all.iter().find(|it| it.name == name).ok_or_else(|| {
                let hint = match close_names(name, names()).as_slice() {
                    [] => format!("the containers are {}", list()),
                    close => format!("did you mean {}?", close.join(" or ")),
                };
                format!("{file}: there is no container {name}; {hint}")
            })?,
        };
        let read = if own.is_compose { of_compose(&own.node) } else { of_kubernetes(&own.node) };
        let (limit, shares, line) = read.map_err(|Wrong { line, what }| {
            format!("{file}:{line}: container {}: {what}", own.name)
        })?;
        let place = format!("{file}:{}", line.unwrap_or(own.line));
        Ok(Resources { place, container: own.name.clone(), limit, shares })
    }
}

/// Adds the containers of a document.
fn find_containers(document: &Rc<Node>, all: &mut Vec<Container>) {
    if let Some(services) = document.get("services") {
        all.extend(services.entries().iter().map(|(name, node)| Container {
            name: name.clone(),
            line: node.line,
            node: node.clone(),
            is_compose: true,
        }));
        return;
    }
    let path: &[&str] = match document.get("kind").and_then(Node::text) {
        Some("List") => {
            let items = document.get("items").map_or(&[][..], Node::items);
            // A list of lists has no items of its own kind.
            let is_list = |it: &Node| it.get("kind").and_then(Node::text) == Some("List");
            return items.iter().filter(|it| !is_list(it)).for_each(|it| find_containers(it, all));
        }
        Some("Pod") => &["spec"],
        Some("CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &["spec", "template", "spec"],
    };
    let containers = document.at(path).and_then(|spec| spec.get("containers"));
    let containers = containers.map_or(&[][..], Node::items);
    all.extend(containers.iter().enumerate().map(|(number, node)| Container {
        name: match node.get("name").and_then(Node::text) {
            Some(name) => name.into(),
            None => format!("number {}", number + 1),
        },
        line: node.line,
        node: node.clone(),
        is_compose: false,
    }));
}

/// A malformed value.
struct Wrong {
    line: usize,
    what: String,
}

/// Limit, weight, and the line of the limit.
type Read = (Option<Limit>, Option<u64>, Option<usize>);

fn of_kubernetes(node: &Node) -> Result<Read, Wrong> {
    let cpu = |of: &str| match node.at(&["resources", of, "cpu"]) {
        None => Ok(None),
        Some(node) => value(node, &format!("resources.{of}.cpu"), "500m, 0.5 or 2", quantity)
            .map(|milli| Some((milli, node.line))),
    };
    let limit = cpu("limits")?;
    // A container that requests nothing requests its limit.
    let request = cpu("requests")?.or(limit);
    let shares = request.map(|(milli, _)| ((milli * 1.024) as u64).clamp(SHARES_MIN, SHARES_MAX));
    let Some((milli, line)) = limit else { return Ok((None, shares, None)) };
    // The kubelet rounds up to a milli-CPU, and sets at least the kernel's minimum.
    let quota_us = (milli.ceil() as u64).saturating_mul(PERIOD_US) / 1000;
    Ok((Some(usual(quota_us.max(LEAST_US))), shares, Some(line)))
}

/// Returns the limit of a quota in the usual period.
fn usual(quota_us: u64) -> Limit {
    Limit { quota_us: Some(quota_us), period_us: PERIOD_US, burst_us: 0 }
}

fn of_compose(node: &Node) -> Result<Read, Wrong> {
    let number = |text: &str| {
        let number = text.parse::<f64>().ok();
        number.filter(|it| (0.0..=1e6).contains(it))
    };
    // A plain number is in us.
    let time = |text: &str| match number_us(text) {
        None => time_us(text),
        us => us,
    };
    let deployed = node.at(&["deploy", "resources", "limits", "cpus"]);
    let cpus = [("cpus", node.get("cpus")), ("deploy.resources.limits.cpus", deployed)];
    let mut limit: Option<(Limit, usize)> = None;
    for (name, node) in cpus {
        let Some(node) = node else { continue };
        let cpus = value(node, name, "0.5", number)?;
        // 0: no limit.
        if cpus == 0.0 {
            continue;
        }
        let quota_us = (cpus * PERIOD_US as f64).round() as u64;
        let own = usual(checked(quota_us, name, node)?);
        if let Some((other, line)) = limit.filter(|(other, _)| *other != own) {
            let what = format!("{name} is {own}, but `cpus` in line {line} is {other}");
            return Err(Wrong { line: node.line, what });
        }
        limit.get_or_insert((own, node.line));
    }
    let shares = match node.get("cpu_shares") {
        Some(node) => Some(value(node, "cpu_shares", "512", number)? as u64),
        None => None,
    };
    let shares = shares.filter(|&it| it > 0).map(|it| it.clamp(SHARES_MIN, SHARES_MAX));
    let period_us = match node.get("cpu_period") {
        Some(node) => {
            let us = value(node, "cpu_period", "100000 (in us) or 100ms", time)?;
            if us != 0 && !(LEAST_US..=PERIOD_MAX_US).contains(&us) {
                let what = format!("cpu_period is {us} us; the kernel takes 1 ms to 1 s");
                return Err(Wrong { line: node.line, what });
            }
            if us == 0 { PERIOD_US } else { us }
        }
        None => PERIOD_US,
    };
    if let Some(node) = node.get("cpu_quota") {
        let (name, example) = ("cpu_quota", "50000 (in us) or 50ms");
        // -1 and 0: no limit.
        if matches!(node.text(), Some("-1" | "0")) {
            return Ok((limit.map(|it| it.0), shares, limit.map(|it| it.1)));
        }
        let quota_us = checked(value(node, name, example, time)?, name, node)?;
        if let Some((_, line)) = limit {
            let what = format!("{name} and `cpus` (line {line}) are two limits; keep one");
            return Err(Wrong { line: node.line, what });
        }
        let own = Limit { quota_us: Some(quota_us), period_us, burst_us: 0 };
        limit = Some((own, node.line));
    }
    Ok((limit.map(|it| it.0), shares, limit.map(|it| it.1)))
}

/// Checks a quota.
fn checked(quota_us: u64, name: &str, node: &Node) -> Result<u64, Wrong> {
    let what = match quota_us {
        ..LEAST_US => {
            format!("{name}: a quota of {quota_us} us is less than the kernel takes, 1 ms")
        }
        QUOTA_END_US.. => format!("{name}: a quota of {quota_us} us is more than the kernel takes"),
        _ => return Ok(quota_us),
    };
    Err(Wrong { line: node.line, what })
}

/// Reads a value. `example`: a right one.
fn value<T>(
    node: &Node,
    name: &str,
    example: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, Wrong> {
    let wrong = |what: String| Wrong { line: node.line, what };
    let Some(text) = node.text() else {
        return Err(wrong(format!("{name} has no value, such as {example}")));
    };
    if text.contains("${") || text.contains("{{") {
        return Err(wrong(format!("{name} is the variable {text}; replace it by its value")));
    }
    let text = text.trim();
    read(text).ok_or_else(|| wrong(format!("{name} is \"{text}\", and must be such as {example}")))
}

/// Parses a whole number of us.
fn number_us(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()
}

/// Parses a quantity of CPUs as Kubernetes writes them, as milli-CPUs.
fn quantity(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 4] = [("m", 1.0), ("u", 1e-3), ("n", 1e-6), ("k", 1e6)];
    let unit = UNITS.iter().find_map(|(unit, milli)| Some((text.strip_suffix(unit)?, *milli)));
    let (number, milli) = unit.unwrap_or((text, 1000.0));
    let number: f64 = number.parse().ok()?;
    (number > 0.0 && number * milli <= 1e9).then_some(number * milli)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOYMENT: &str = "\
apiVersion: v1
kind: Service
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: web
        resources:
          limits: {cpu: 500m, memory: 1Gi}
          requests: {cpu: \"0.25\"}
      - name: log
        resources: {}
";

    const COMPOSE: &str = "\
x-small: &small
  cpus: '0.5'
services:
  web:
    <<: *small
    cpu_shares: 512
  db:
    cpu_quota: 30ms
    cpu_period: 50000
  api:
    deploy:
      resources:
        limits:
          cpus: 1.5
  free: {image: x}
";

    fn parse(text: &str, container: &str) -> Result<(Option<String>, Option<u64>, String), String> {
        let container = Some(container).filter(|it| !it.is_empty());
        let found = Resources::parse("f.yaml", text, container)?;
        Ok((found.limit.map(|it| it.cpu_max()), found.shares, found.place))
    }

    #[test]
    fn limits_are_read_from_deployments_and_compose_files() {
        let of = |text, container, cpu_max: Option<&str>, shares, line: u32| {
            let expected = (cpu_max.map(String::from), shares, format!("f.yaml:{line}"));
            assert_eq!(parse(text, container), Ok(expected), "{container}");
        };
        of(DEPLOYMENT, "web", Some("50000 100000"), Some(256), 13);
        of(DEPLOYMENT, "log", None, None, 15);
        of(COMPOSE, "web", Some("50000 100000"), Some(512), 2);
        of(COMPOSE, "db", Some("30000 50000"), None, 8);
        of(COMPOSE, "api", Some("150000 100000"), None, 14);
        of(COMPOSE, "free", None, None, 15);
        let pod = "{kind: Pod, spec: {containers: [{name: a, resources: {limits: {cpu: 1e-3}}}]}}";
        of(pod, "", Some("1000 100000"), Some(2), 1);
        let job = "kind: CronJob\nspec: {jobTemplate: {spec: {template: {spec: {containers: [\n\
                   {name: a, resources: {limits: {cpu: 2}}}]}}}}}";
        of(job, "a", Some("200000 100000"), Some(2048), 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_file_and_line() {
        let with = |service: &str| format!("services:\n  web:\n{service}");
        let wrong = |text: &str, container: &str, parts: &[&str]| {
            let error = parse(text, container).expect_err(text);
            for part in parts {
                assert!(error.contains(part), "no \"{part}\" in: {error}");
            }
        };
        wrong(
            DEPLOYMENT,
            "",
            &["f.yaml: there are several containers: web (line 11), log (line 15)"],
        );
        wrong(DEPLOYMENT, "weg", &["no container weg", "did you mean web?"]);
        wrong("a: 1", "", &["f.yaml: there is no container", "Deployment", "services"]);
        wrong("a: [1\nb: 2", "", &["f.yaml:2: "]);
        wrong(&with("    cpus: much"), "", &["f.yaml:3: container web: cpus is \"much\"", "0.5"]);
        wrong(&with("    cpus: [1]"), "", &["f.yaml:3:", "cpus has no value"]);
        wrong(&with("    cpus: ${CPUS}"), "", &["f.yaml:3:", "variable ${CPUS}"]);
        wrong(&with("    cpus: 1\n    cpu_quota: 5ms"), "", &["f.yaml:4:", "two limits", "line 3"]);
        wrong(&with("    cpu_quota: 500"), "", &["f.yaml:3:", "less than the kernel takes"]);
        wrong(&with("    cpu_period: 2s"), "", &["f.yaml:3:", "1 ms to 1 s"]);
        let two = with("    cpus: 1\n    deploy: {resources: {limits: {cpus: 2}}}");
        wrong(&two, "", &["f.yaml:4:", "line 3 is 1.00 CPU"]);
        wrong(&DEPLOYMENT.replace("500m", "500x"), "web", &["f.yaml:13:", "\"500x\"", "500m"]);
        wrong(&format!("a: {}", "[".repeat(1000)), "", &["f.yaml:1: "]);
        let deep: String = (0..150).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        wrong(&deep, "", &["f.yaml:1", "nested more than 100 deep"]);
        wrong("a: &x [*x]", "", &["f.yaml:1:"]);
    }
}
