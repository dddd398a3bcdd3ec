//! libcgroup's rules: the groups of tasks, and refused rules.

use super::super::{GroupPlan, cgconfig};
use super::*;

/// Users 1000 anna and 1001 ben of group 100 users, 1002 carl of group 101 staff. anna is also a
/// member of staff.
fn accounts() -> Accounts {
    Accounts::default()
        .with_group("users", 100)
        .with_group("staff", 101)
        .with_user("anna", 1000, 100)
        .with_user("ben", 1001, 100)
        .with_user("carl", 1002, 101)
        .with_member(1000, 101)
}

fn process<'a>(user: &'a str, name: &'a str) -> Process<'a> {
    Process { user, group: None, name, pid: 42 }
}

/// Returns the moves in the form `cpu:/a cpuset:/b`.
fn moves(rules: &str, process: Process<'_>) -> String {
    let rules = parse("cgrules.conf", rules).unwrap_or_else(|error| panic!("{error}"));
    match rules.classify(&accounts(), process).unwrap_or_else(|error| panic!("{error}")) {
        Verdict::NoRule => "no rule".into(),
        Verdict::Ignore => "ignore".into(),
        Verdict::Move(moves) => {
            let word = |to: &Move| format!("{}:{}", to.controllers.join(","), to.path);
            moves.iter().map(word).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Measured with cgclassify 2.0.2.
#[test]
fn the_first_match_wins() {
    for (rules, expected) in [
        ("root cpu a", "cpu:/a"),
        ("root:cat cpu a\n* cpu b", "cpu:/b"),
        ("* cpu b\nroot cpu a", "cpu:/b"),
        ("root cpu a\n% cpuset b\n% freezer c", "cpu:/a cpuset:/b freezer:/c"),
        ("*:sleep cpu a\n% cpuset b\nroot freezer c", "cpu:/a cpuset:/b"),
        ("root:cat cpu a\n% cpuset b\n* freezer c", "freezer:/c"),
        ("nosuchuser cpu a\n% cpuset a\n* cpu b", "cpu:/b"),
        ("root cpu a ignore\n* cpu b", "ignore"),
        ("root cpu,cpuset a\nroot freezer b", "cpu,cpuset:/a"),
    ] {
        assert_eq!(moves(rules, process("root", "/usr/bin/sleep")), expected, "{rules}");
    }
}

#[test]
fn subjects() {
    let of = |rules, user| moves(rules, process(user, "x"));
    assert_eq!(of("anna cpu a", "anna"), "cpu:/a");
    assert_eq!(of("anna cpu a", "ben"), "no rule");
    assert_eq!(of("@users cpu a", "ben"), "cpu:/a");
    assert_eq!(of("@staff cpu a", "carl"), "cpu:/a");
    assert_eq!(of("@staff cpu a", "anna"), "cpu:/a");
    assert_eq!(of("@staff cpu a", "ben"), "no rule");
    assert_eq!(of("@nosuchgroup cpu a\n% cpuset a\n* * b", "ben"), "*:/b");
    let as_staff = Process { group: Some("staff"), ..process("ben", "x") };
    assert_eq!(moves("@staff cpu a", as_staff), "cpu:/a");
}

#[test]
fn programs() {
    let of = |who: &str, name| moves(&format!("{who} cpu a"), process("root", name));
    for who in
        ["root:sleep", "root:/usr/bin/sleep", "*:sleep", "@root:sleep", "*:/usr/bin/sl*", "*:*"]
    {
        assert_eq!(of(who, "/usr/bin/sleep"), "cpu:/a", "{who}");
    }
    for who in ["root:slee", "*:bin/sleep", "*:slee*", "root:\"sleep\""] {
        assert_eq!(of(who, "/usr/bin/sleep"), "no rule", "{who}");
    }
    assert_eq!(of("*:vid*", "video"), "cpu:/a");
}

#[test]
fn comments_blanks_and_slashes() {
    let rules = "\u{feff}# all\n\n\t anna \t cpu\t/a/b/  # anna's\r\n * cpu /\n";
    assert_eq!(moves(rules, process("anna", "x")), "cpu:/a/b");
    assert_eq!(moves(rules, process("ben", "x")), "cpu:");
}

#[test]
fn destinations_by_name() {
    let rules = "@users cpu users/%u-%U\n% cpuset %g/%G/%p/%P/100\\%";
    assert_eq!(
        moves(rules, process("anna", "/bin/make")),
        "cpu:/users/anna-1000 cpuset:/users/100/make/42/100%"
    );
    let rules = parse("f", rules).unwrap();
    let verdict = rules.classify(&accounts(), process("anna", "x")).unwrap();
    assert_eq!(verdict.destination("cpu").unwrap().template.as_deref(), Some("/users/%u-%U"));
    assert!(verdict.destination("freezer").is_none());
    let verdict =
        parse("f", "* * all").unwrap().classify(&accounts(), process("anna", "x")).unwrap();
    assert_eq!(verdict.destination("freezer").unwrap().path, "/all");
    assert_eq!(verdict.destination("cpu").unwrap().template, None);
}

/// A group that a rule requests is created from its template.
#[test]
fn groups_from_templates() {
    let config =
        cgconfig::parse("c", "group all { cpu { } } template u/%u { cpu { cpu.shares = 256; } }")
            .unwrap();
    let rules = parse("r", "@users cpu u/%u").unwrap();
    let verdict = rules.classify(&accounts(), process("ben", "x")).unwrap();
    let to = verdict.destination("cpu").unwrap();
    let mut settings = config.settings().clone();
    assert!(!settings.names(&to.path));
    let template = config.template(to.template.as_ref().unwrap()).unwrap();
    settings.add(template.settings(&to.path));
    let plan = GroupPlan::new(&settings, &[], 1).unwrap();
    let ben = plan.groups().last().unwrap();
    assert_eq!((ben.path.as_str(), ben.shares), ("/u/ben", 256));
}

#[test]
fn errors() {
    for (rules, expected) in [
        ("anna cpu", "1:1 a rule has three fields: who, controllers and destination"),
        (
            "* cpu a\n  anna # cpu a",
            "2:3 a rule has three fields: who, controllers and destination",
        ),
        ("% cpu a", "1:1 `%` continues the rule above, but there is none"),
        ("* cpu a\n%:sleep cpu a", "2:1 `%` uses the program of the rule above"),
        ("anna: cpu a", "1:1 `anna:` names no program"),
        (":sleep cpu a", "1:1 `:sleep` names no user"),
        ("@ cpu a", "1:1 `@` names no group of users"),
        ("* cpu, cpuset a", "1:3 `cpu,` is not a list of controllers"),
        ("* cpu a/%x", "1:7 `%x` has no meaning"),
        ("* cpu a/../b", "1:7 a group cannot be called `..`"),
        ("* cpu a ignore_rt", "1:9 unknown option `ignore_rt`"),
        ("* cpu a\n% cpuset b ignore", "2:12 `ignore` in a line that continues the rule above"),
        ("* cpu a b c", "1:9 unknown option `b`"),
    ] {
        let error = parse("f", rules).expect_err(rules);
        let text = format!("{}:{} {}", error.line(), error.column(), error.message());
        assert_eq!(text, expected, "{rules}");
    }
}

#[test]
fn errors_of_a_process() {
    let rules = parse("f", "* cpu %p").unwrap();
    let error = rules.classify(&accounts(), process("zoe", "x")).unwrap_err();
    assert_eq!(error.message(), "there is no user `zoe`");
    let in_no_group = Process { group: Some("none"), ..process("anna", "x") };
    let error = rules.classify(&accounts(), in_no_group).unwrap_err();
    assert_eq!(error.message(), "there is no group of users `none`");
    let error = rules.classify(&accounts(), process("anna", "..")).unwrap_err();
    assert_eq!((error.message(), error.column()), ("a group cannot be called `..`", 7));
}

#[test]
fn notes_tell_which_rules_are_passed_over() {
    let rules = parse("f", "anna cpu a\nzoe cpu a\n% cpuset b\n@unknown:x cpu a").unwrap();
    let notes: Vec<String> = rules.notes(&accounts()).iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "f:2: the rule is ignored: there is no user `zoe`",
            "f:4: the rule is ignored: there is no group of users `unknown`",
        ]
    );
}
