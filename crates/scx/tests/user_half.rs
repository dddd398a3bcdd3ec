//! Scripted user halves, policies that end without their user half, and the effect of a script:
//! `objects/half.bpf.c`.

mod support;

use schedlab_core::{
    Administer, BuildConfig, CpuId, Inspect, Parent, Platform, Scheduler, TaskAttr, TaskId,
};
use schedlab_scx::log::{Entry as Line, Log, Witness};
use schedlab_scx::user_half::script::{
    Action, Assignment, Call, Entry, Located, Record, Script, Statement, Timing, Value,
};
use schedlab_scx::{Image, Object, ObjectError, OnEnd, Options, ScxScheduler, Setting, Target};
use std::sync::{Arc, Mutex};
use support::{HZ, MS, Script as Task, bytes, run};

fn at<T>(item: T) -> Located<T> {
    Located { place: "here".into(), item }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn number(number: i128) -> Value {
    Value::Number(number)
}

fn table(members: &[(&str, Value)]) -> Value {
    Value::Table(members.iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
}

fn set(name: &str, value: Value) -> Assignment {
    Assignment { name: name.into(), value }
}

fn entry(map: &str, key: Value, value: Value) -> Entry {
    let (map, key, value) = (map.into(), Some(key), Some(value));
    Entry { map, key, value, cpu: None, each: None }
}

/// Returns the script that the policy cannot run without.
fn whole() -> Script {
    let each = Some(text("cpus"));
    let before = vec![
        Statement::Write(entry("domains", number(0), table(&[("mask", number(1))]))),
        Statement::Write(Entry {
            each: each.clone(),
            ..entry("table", text("each"), text("(each + 1) * 11"))
        }),
        Statement::Call(Call {
            program: "set_primary".into(),
            args: table(&[
                ("cpu", text("each")),
                ("weight", number(10)),
                ("wide", number(1 << 33)),
            ]),
            ty: Some("struct cpu_arg".into()),
            each,
        }),
    ];
    Script {
        resize: vec![at(set("of_cpu", text("cpus")))],
        set: vec![at(set("nr_cpus", text("cpus"))), at(set("map.table.max_entries", text("cpus")))],
        before: before.into_iter().map(at).collect(),
        ..Script::default()
    }
}

fn link(script: &Script, cpus: u32, settings: &[&str]) -> Result<Image, ObjectError> {
    let object = Object::read("half.bpf.o", bytes("half"))?;
    let mut image = object.link_as_it_is(Target { cpus, hz: HZ })?;
    script.prepare(&mut image)?;
    let settings: Result<Vec<Setting>, _> = settings.iter().map(|it| Setting::read(it)).collect();
    image.set(&settings?)?;
    Ok(image)
}

fn made(script: &Script, cpus: u32, settings: &[&str]) -> ScxScheduler {
    let image = link(script, cpus, settings).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { on_end: OnEnd::GoOn, ..Options::default() };
    ScxScheduler::new(Arc::new(image), &BuildConfig::flat(cpus, HZ), options)
}

fn begun(script: &Script, cpus: u32, settings: &[&str]) -> (ScxScheduler, Platform) {
    let mut policy = made(script, cpus, settings);
    let mut platform = BuildConfig::flat(cpus, HZ).platform();
    policy.fork(&mut platform, TaskId(0), &TaskAttr::default(), Parent::External);
    (policy, platform)
}

fn value(policy: &ScxScheduler, name: &str) -> u64 {
    policy.variable(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn end(policy: &ScxScheduler) -> String {
    policy.end().map_or("it has not ended".into(), |end| end.message.clone())
}

#[test]
fn everything_is_there_before_the_policy_begins() {
    let mut script = whole();
    script.set.extend([
        at(set("bounds.high", number(9))),
        at(set("of_cpu", Value::List(vec![number(3), text("cpus * 10")]))),
        at(set("slice_ns", text("5ms"))),
        at(set("ops.timeout_ms", number(5000))),
    ]);
    script.inner = vec![at(set("groups", number(3)))];
    let domain = table(&[
        ("mask", text("0xffff_ffff_ffff_ffff")),
        ("limits", table(&[("high", number(6))])),
        ("weights", Value::List(vec![number(1), number(2), number(3)])),
        ("is_big", number(1)),
        ("level", number(100)),
        ("kind", text("KIND_URGENT")),
        ("name", text("big")),
    ]);
    let todo =
        Entry { key: None, each: Some(number(3)), ..entry("todo", number(0), text("each + 1")) };
    let recent = Entry { cpu: Some(1), ..entry("recent", number(3), number(2)) };
    for entry in
        [entry("domains", number(3), domain), entry("stats", number(0), number(7)), recent, todo]
    {
        script.before.insert(0, at(Statement::Write(entry)));
    }
    let (policy, _) = begun(&script, 2, &[]);
    assert_eq!(end(&policy), "it has not ended");
    for (name, expected) in [
        ("nr_cpus", 2),
        ("slice_ns", 5_000_000),
        ("sum", 3 + 20),
        ("primary", 0b11),
        ("given", 20 + (1 << 34)),
        ("mask", u64::MAX),
        ("first_weight", 123),
        ("bits", 1100),
        ("kind", 7000 + u64::from(b'b')),
        ("high", 69),
        ("table_last", 22),
        ("per_cpu", 77),
        ("recents", 2),
        ("todos", 123),
        ("inners", 3),
        ("dynptrs", 1),
        ("uid", 0),
        ("nspid", 1000),
        ("inum", 0xefff_fffc),
        ("threads", 1),
    ] {
        assert_eq!(value(&policy, name), expected, "{name}");
    }
    assert_eq!(policy.image().ops.timeout_ms, 5000);
}

#[test]
fn a_setting_counts_more_than_the_script() {
    let mut script = whole();
    script.set.push(at(set("slice_ns", number(7))));
    assert_eq!(value(&made(&script, 1, &["slice_ns=9"]), "slice_ns"), 9);
    assert_eq!(value(&made(&script, 1, &[]), "slice_ns"), 7);
}

/// Section 15.7 of the specification: the ends of six policies that were loaded without their user
/// halves in a kernel, and their ends here.
#[test]
fn without_its_user_half_it_ends_as_in_the_kernel() {
    let (policy, _) = begun(&Script { before: vec![], ..whole() }, 2, &[]);
    assert_eq!(end(&policy), "scx_bpf_error (Primary CPUs not initialized)");
    let mut script = whole();
    script.before.remove(0);
    assert_eq!(end(&begun(&script, 2, &[]).0), "scx_bpf_error (Did not find map entry)");
    let (policy, _) = begun(&whole(), 2, &["lacks=3"]);
    assert_eq!(end(&policy), "scx_bpf_error (failed to create DSQ 64)");
    let mut script = whole();
    script.before.remove(1);
    let message = end(&begun(&script, 2, &[]).0);
    assert_eq!(message, "ops.init_task() failed (-22) for task-0[1000]");
    let (policy, _) = begun(&whole(), 2, &["lacks=2"]);
    assert_eq!(end(&policy), "invalid DSQ ID 0x0000000000000001");
    let (policy, _) = begun(&whole(), 2, &["lacks=1"]);
    assert_eq!(end(&policy), "per-node idle tracking is disabled");
}

#[derive(Default)]
struct Lines(Vec<(u64, &'static str, String)>);

impl Witness for Lines {
    fn entry(&mut self, line: &Line) {
        if matches!(line.name, "user" | "syscall") {
            self.0.push((line.at_ns, line.name, line.text.clone()));
        }
    }
}

fn logged(script: &Script, until_ns: u64) -> (Vec<(u64, &'static str, String)>, [u64; 6]) {
    let mut policy = made(script, 2, &[]);
    let lines: Arc<Mutex<Lines>> = Arc::default();
    policy.log_to(Log::new(lines.clone()));
    let machine = run(policy, 2, vec![Task::hog(0), Task::hog(0), Task::hog(0)], until_ns);
    let policy = machine.scheduler();
    assert_eq!(end(policy), "it has not ended");
    let names = ["slice_ns", "drained", "values", "rdonly", "sizes", "read_error"];
    let values = names.map(|name| value(policy, name));
    let lines = lines.lock().expect("no thread panicked").0.split_off(0);
    (lines, values)
}

#[test]
fn it_adjusts_while_the_policy_runs() {
    let mut script = whole();
    let send = |value: Value, ty: Option<&str>, each: i128| {
        Statement::Send(Record {
            map: "commands".into(),
            value,
            ty: ty.map(str::to_string),
            each: Some(number(each)),
        })
    };
    let cmd = |what: i128| table(&[("what", number(what)), ("value", text("each + 40"))]);
    let once = |ns| Timing { first_ns: ns, every_ns: None, until_ns: u64::MAX };
    let statements = |statements: Vec<Statement>| statements.into_iter().map(at).collect();
    script.actions = vec![
        Action {
            when: Timing { first_ns: 0, every_ns: Some(100 * MS), until_ns: 350 * MS },
            only_if: Some(at("map.table[1] == 22 && now_ns > 0".into())),
            statements: statements(vec![
                Statement::Set(set("slice_ns", text("max(18000000, slice_ns - 1000000)"))),
                Statement::Read("slice_ns / 1000".into()),
            ]),
        },
        Action {
            when: once(250 * MS),
            only_if: None,
            statements: statements(vec![
                Statement::Write(entry("domains", number(7), table(&[("level", number(5))]))),
                Statement::Delete(Entry { value: None, ..entry("domains", number(0), number(0)) }),
                Statement::Delete(Entry { value: None, ..entry("domains", number(99), number(0)) }),
                send(cmd(1), Some("struct cmd"), 3),
                send(Value::List(vec![number(1), number(2)]), None, 1),
                // The policy reads no further in this round.
                send(cmd(9), Some("struct cmd"), 1),
                send(cmd(1), Some("struct cmd"), 1),
                Statement::Read("map.domains".into()),
                Statement::Read("map.domains[7].level + map.domains[0].mask".into()),
            ]),
        },
        Action {
            when: once(400 * MS),
            only_if: None,
            statements: statements(vec![Statement::Call(Call {
                program: "adjust".into(),
                args: Value::List(vec![number(0), number(3_000_000)]),
                ty: None,
                each: None,
            })]),
        },
    ];
    let (lines, values) = logged(&script, 500 * MS);
    // Three records, one that is too short, the one that ends the round, and one more.
    assert_eq!(values, [3_000_000, 6, 40 + 41 + 42 + 40 + 40, 5, 5 * 16, 1]);
    let timed: Vec<(u64, &str)> =
        lines.iter().filter(|line| line.0 > 0).map(|line| (line.0 / MS, line.2.as_str())).collect();
    assert_eq!(
        timed[..4],
        [
            (100, "set slice_ns = 19000000"),
            (100, "read slice_ns / 1000 = 19000"),
            (200, "set slice_ns = 18000000"),
            (200, "read slice_ns / 1000 = 18000"),
        ]
    );
    for expected in [
        (250, "write domains[7]"),
        (250, "delete domains[0]"),
        (250, "delete domains[99], which does not exist"),
        (250, "send commands 0102"),
        (250, "read map.domains[7].level + map.domains[0].mask = 5"),
        (300, "set slice_ns = 18000000"),
        (400, "adjust(0, 3000000)"),
    ] {
        assert!(timed.contains(&expected), "{expected:?} in {timed:?}");
    }
    assert!(timed.iter().any(|line| line.1.starts_with("read domains[7] = 0000")), "{timed:?}");
    assert!(timed.iter().all(|line| line.0 <= 400));
    assert_eq!(logged(&script, 500 * MS), (lines, values), "the same again");
}

#[test]
fn what_cannot_be_done_ends_the_policy_with_its_place() {
    let mut script = whole();
    let mut full = entry("domains", text("each"), table(&[]));
    full.each = Some(number(9));
    script.before.push(at(Statement::Write(full)));
    let message = end(&begun(&script, 2, &[]).0);
    assert_eq!(
        message,
        "here: domains[8] cannot be written: -7 (E2BIG): it is full, or there is no such element"
    );
    let mut script = whole();
    let mut far = entry("domains", text("each"), table(&[]));
    far.each = Some(number(2_000_000));
    script.before.push(at(Statement::Write(far)));
    assert!(end(&begun(&script, 2, &[]).0).contains("the maximum is 1000000 rounds"));
}

#[test]
fn what_is_not_there_is_refused_with_what_would_be_right() {
    let wrong = |change: &dyn Fn(&mut Script)| {
        let mut script = whole();
        change(&mut script);
        link(&script, 2, &[]).expect_err("the script is refused").to_string()
    };
    let set_wrong =
        |name: &str, value: Value| wrong(&|script| script.set.push(at(set(name, value.clone()))));
    let has = |message: String, part: &str| assert!(message.contains(part), "{message}");
    has(
        set_wrong("slice_n", number(1)),
        "here: slice_n: there is no variable slice_n; did you mean slice_ns?",
    );
    has(
        set_wrong("lacks", number(1 << 40)),
        "lacks has 32 bits: the range is -2147483648 to 4294967295",
    );
    has(set_wrong("lacks", text("5ms")), "5ms is a time, but lacks does not state a unit");
    has(set_wrong("slice_ns", text("queued")), "queued cannot be read before the policy is loaded");
    has(set_wrong("slice_ns", text("1 +")), "ends where a number or a name is expected");
    has(set_wrong("slice_ns", Value::List(vec![])), "slice_ns is a number, not a list");
    has(set_wrong("bounds", number(1)), "bounds is a structure: write its members");
    has(
        set_wrong("bounds", table(&[("hig", number(1))])),
        "there is no member hig; did you mean high?",
    );
    has(set_wrong("bounds.high.x", number(1)), "high is not a structure");
    has(set_wrong("of_cpu[2]", number(1)), "element 2 of 2, 0 to 1");
    has(set_wrong("of_cpu", Value::List(vec![number(1); 3])), "of_cpu has 2 elements, not 3");
    has(set_wrong("slice_ns[0]", number(1)), "it is not an array");
    has(set_wrong("ops.flag", number(1)), "the fields of ops are ");
    has(set_wrong("ops.flags", number(-1)), "-1 does not fit in 64 bits");
    has(set_wrong("map.table.max_entries", number(0)), "at least 1 entry");
    has(set_wrong("map.tables.max_entries", number(1)), "did you mean table?");
    has(set_wrong("map.table.max_entries", number(1 << 31)), "the maximum is ");
    let resize = |name: &str, value: Value| {
        wrong(&|script| script.resize.push(at(set(name, value.clone()))))
    };
    has(resize("slice_ns", number(2)), "slice_ns is not an array");
    has(resize("of_cpu", number(0)), "the minimum is 1 element");
    has(resize("of_cpu", number(1 << 60)), "the maximum 67108864 bytes");
    has(resize("not_ready", number(2)), "only the last one can be resized");
    let inner =
        |name: &str, count| wrong(&|script| script.inner.push(at(set(name, number(count)))));
    has(inner("table", 1), "table is not an ARRAY_OF_MAPS");
    has(inner("groups", 5), "5 maps for groups; it can have 1 to 4");
    let statement =
        |statement: Statement| wrong(&|script| script.before.push(at(statement.clone())));
    let write =
        |map: &str, key: Value, value: Value| statement(Statement::Write(entry(map, key, value)));
    has(write("domain", number(1), table(&[])), "there is no map domain; did you mean domains?");
    has(write("domains", text("x"), table(&[])), "there is no variable x");
    has(write("domains", number(1 << 40), table(&[])), "key has 32 bits");
    has(write("domains", number(1), number(5)), "value is a structure");
    let name = table(&[("name", text("much too long"))]);
    has(write("domains", number(1), name), "has 8 bytes, the last of which is 0");
    has(
        write("domains", number(1), table(&[("level", number(128))])),
        "value.level has 7 bits: the range is -64 to 127",
    );
    has(write("groups", number(1), number(1)), "[inner] gives it new maps");
    has(
        write("commands", number(1), number(1)),
        "USER_RINGBUF, whose entries a script cannot write; use send",
    );
    has(write("todo", number(1), number(1)), "todo is a QUEUE; it has no keys");
    let on = |map: &str, cpu| {
        statement(Statement::Write(Entry { cpu: Some(cpu), ..entry(map, number(0), number(1)) }))
    };
    has(on("table", 0), "which has the same values for all CPUs");
    has(on("stats", 2), "there is no CPU 2; the machine has 2");
    has(
        statement(Statement::Delete(entry("table", number(0), number(0)))),
        "entries can be deleted only from hashes",
    );
    let call = |program: &str, args: Value, ty: Option<&str>| {
        let (program, ty) = (program.into(), ty.map(str::to_string));
        statement(Statement::Call(Call { program, args, ty, each: None }))
    };
    has(call("set_primry", Value::List(vec![]), None), "there is no program set_primry");
    has(call("adjust", Value::List(vec![number(0); 65]), None), "the maximum is 256");
    has(call("adjust", number(1), None), "a list of numbers of 32 bits");
    has(call("adjust", table(&[]), Some("struct cpu_ag")), "did you mean cpu_arg?");
    let send = |map: &str, value: Value| {
        statement(Statement::Send(Record { map: map.into(), value, ty: None, each: None }))
    };
    has(send("events", Value::List(vec![])), "only a USER_RINGBUF takes records");
    has(send("commands", Value::List(vec![])), "a record of 0 bytes; 1 to 4088 fit");
    has(send("commands", Value::List(vec![number(256)])), "value[0] has 8 bits");
    has(statement(Statement::Read("map.todo".into())), "it cannot be read as a whole");
    has(statement(Statement::Read("bounds".into())), "bounds is a structure: name a member of it");
    has(statement(Statement::Read("map.domains".to_string() + "[0]")), "is a structure");
    has(statement(Statement::Read("map.todo[0]".into())), "todo is a QUEUE; it has no keys");
    has(statement(Statement::Set(set("lacks", number(1)))), "constant once the policy is loaded");
    has(wrong(&|script| script.cpu = 2), "cpu: there is no CPU 2; the machine has 2");
}

#[test]
fn a_policy_that_ends_by_hotplug_is_loaded_again() {
    let mut script = whole();
    script.set.push(at(set("slice_ns", number(7 * MS as i128))));
    script.actions = vec![Action {
        when: Timing { first_ns: 0, every_ns: None, until_ns: 0 },
        only_if: None,
        statements: vec![at(Statement::Set(set("slice_ns", number(5))))],
    }];
    let (mut policy, mut platform) = begun(&script, 4, &[]);
    for task in 1..6 {
        policy.fork(&mut platform, TaskId(task), &TaskAttr::default(), Parent::External);
    }
    for cpu in 0..4 {
        assert!(policy.schedule(&mut platform, CpuId(cpu)).is_some());
    }
    assert_eq!((value(&policy, "primary"), value(&policy, "queued")), (0b1111, 6));
    policy.cpu_offline(&mut platform, CpuId(3)).expect("the command is accepted");
    assert_eq!(end(&policy), "it has not ended");
    assert_eq!(policy.restarts(), 1);
    // A new instance was set up, and the two waiting tasks were enqueued again.
    assert_eq!((value(&policy, "primary"), value(&policy, "queued")), (0b1111, 2));
    assert_eq!(value(&policy, "slice_ns"), 7 * MS);
    assert_eq!(policy.audit(), Ok(()));
    let remarks = policy.remarks();
    assert_eq!(
        remarks,
        ["scx: policy half was loaded again, as its user half would load it, once, first at 0 \
          ns: cpu 3 going offline, exiting scheduler"]
    );
    // Running tasks continue. The others follow when these have blocked.
    let mut seen = vec![];
    for cpu in 0..3 {
        let running = policy.schedule(&mut platform, CpuId(cpu)).expect("the CPU has a task");
        seen.push(running);
        policy.block(&mut platform, CpuId(cpu), running, schedlab_core::BlockReason::Interruptible);
        seen.extend(policy.schedule(&mut platform, CpuId(cpu)));
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 5, "{seen:?}");
    assert_eq!(policy.audit(), Ok(()));
    // It cannot restart forever in one instant.
    for _ in 0..8 {
        policy.cpu_online(&mut platform, CpuId(3)).expect("the command is accepted");
        policy.cpu_offline(&mut platform, CpuId(3)).expect("the command is accepted");
    }
    assert_eq!(policy.restarts(), 16);
    assert!(end(&policy).contains("loaded again 16 times in this instant"), "{}", end(&policy));
    assert_eq!(policy.audit(), Ok(()));
}
