//! sched_ext policies: objects, their types, their relocations against the kernel's types,
//! programs.

use super::{Reader, Shape};
use schedlab_core::{
    BlockReason, BuildConfig, CpuId, Parent, Platform, Scheduler, TaskAttr, TaskId, TimerKey, Waker,
};
use schedlab_scx::btf::{Btf, BtfExt, CoreRelocation};
use schedlab_scx::check::check;
use schedlab_scx::core_relo::resolve;
use schedlab_scx::elf::Elf;
use schedlab_scx::insn::decode;
use schedlab_scx::kernel_types::KernelTypes;
use schedlab_scx::vm::{Calls, Fault, Outcome, Vm, run};
use schedlab_scx::{Object, OnEnd, Options, ScxScheduler, Setting, Target};
use std::sync::Arc;

/// Number of CPUs of the machine.
const CPUS: u32 = 2;

/// Words that occur in objects.
const WORDS: &[&str] = &[
    "\u{7f}ELF\u{2}\u{1}\u{1}",
    ".BTF\0",
    ".BTF.ext\0",
    ".maps\0",
    ".struct_ops.link\0",
    ".rodata\0",
    "struct_ops/e\0",
    "syscall\0",
    "license\0",
    "GPL\0",
    "sched_ext_ops\0",
    "task_struct\0",
    "enqueue\0",
    "dispatch\0",
    "scx_bpf_dsq_insert\0",
    "max_entries\0",
    "0:1:0\0",
    "\u{18}\0\0\0",
    "\u{95}",
];

pub(super) const OBJECT: Reader = Reader {
    name: "scx_object",
    about: "sched_ext policies, BPF objects: ELF, types, relocations; those that load are run",
    read: read_object,
    words: WORDS,
    most: 6_000,
};

fn read_object(input: &[u8]) -> Shape {
    let object = match Object::read("fuzz.bpf.o", input) {
        Ok(object) => object,
        Err(error) => return Shape::refused(error),
    };
    let survey = object.survey();
    let image = match object.link(Target { cpus: CPUS, hz: 250 }, &[]) {
        Ok(image) => image,
        Err(error) => return Shape::refused(error),
    };
    for callback in image.callbacks.iter().flatten() {
        assert!((*callback as usize) < image.code.len(), "a callback beyond the code");
    }
    // A policy that loads can be run: any behaviour ends, and its tasks survive.
    let config = BuildConfig::flat(CPUS, 250);
    let options = Options { on_end: OnEnd::GoOn, ..Options::default() };
    let mut policy = ScxScheduler::new(Arc::new(image), &config, options);
    let mut platform = config.platform();
    drive(&mut policy, &mut platform);
    if let Err(wrong) = policy.inspect().audit() {
        panic!("its audit fails: {wrong}");
    }
    let ended = match policy.end() {
        Some(end) => {
            assert!(!end.message.is_empty(), "it ended without a message");
            end.kind
        }
        None => 0,
    };
    let calls = policy.counts().callbacks.iter().filter(|it| it.calls > 0).count() as u64;
    Shape::taken(ended << 16 | calls << 8 | survey.missing.len() as u64)
}

/// Runs some tasks: they are born, run, sleep and wake.
fn drive(policy: &mut ScxScheduler, platform: &mut Platform) {
    let mut current = [None; CPUS as usize];
    for task in 0..3 {
        let attr = TaskAttr::default();
        policy.fork(platform, TaskId(task), &attr, Parent::External);
    }
    for step in 1..40_u64 {
        platform.set_now_ns(step * 4_000_000);
        for cpu in 0..CPUS {
            if policy.end().is_some() {
                return;
            }
            if current[cpu as usize].is_some() {
                policy.tick(platform, CpuId(cpu));
            }
            let leaves = step % 5 == u64::from(cpu);
            if let (Some(task), true) = (current[cpu as usize], leaves) {
                policy.block(platform, CpuId(cpu), task, BlockReason::Interruptible);
                current[cpu as usize] = policy.schedule(platform, CpuId(cpu));
                policy.wake(platform, task, Waker::Interrupt { cpu: CpuId(cpu) });
            }
            let next = policy.schedule(platform, CpuId(cpu));
            let is_other = next.is_some() && next == current[1 - cpu as usize];
            assert!(!is_other, "a task runs on two CPUs");
            current[cpu as usize] = next;
        }
        policy.timer(platform, TimerKey(1));
    }
}

pub(super) const ELF: Reader = Reader {
    name: "scx_elf",
    about: "ELF objects for BPF: sections, symbols, relocations",
    read: |input| match Elf::read(input) {
        Err(error) => Shape::refused(error),
        Ok(elf) => {
            for section in 0..elf.sections.len() {
                assert!(!elf.place(section).is_empty());
                for relocation in elf.relocations_of(section) {
                    assert!(relocation.symbol < elf.symbols.len(), "a symbol that is not there");
                }
            }
            Shape::taken(elf.sections.len() as u64)
        }
    },
    words: WORDS,
    most: 6_000,
};

pub(super) const BTF: Reader = Reader {
    name: "scx_btf",
    about: "types of BPF objects (BTF, BTF.ext) and their relocations against the kernel's (CO-RE)",
    read: read_btf,
    words: WORDS,
    most: 4_000,
};

/// Reads types. The first two bytes state their length. `.BTF.ext` follows.
fn read_btf(input: &[u8]) -> Shape {
    let [low, high, rest @ ..] = input else { return Shape::refused("it is too short") };
    let len = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (types, more) = rest.split_at(len);
    let btf = match Btf::read(types) {
        Ok(btf) => btf,
        Err(error) => return Shape::refused(error),
    };
    for (id, ty) in btf.iter() {
        // None of these functions loops forever.
        let _ = (btf.size_of(id), btf.resolve_id(id), btf.members(id), btf.prototype(id));
        let _ = (btf.type_name(id), btf.section(&ty.name), btf.function(&ty.name));
    }
    let kernel = KernelTypes::new(CPUS);
    let mut answers = 0_u64;
    let mut ask = |question: &CoreRelocation| {
        if resolve(&btf, &kernel, question).is_ok() {
            answers += 1;
        }
    };
    for kind in 0..14 {
        for ty in 0..btf.len().min(20) as u32 + 1 {
            for access in ["0", "0:0", "0:1:2", "0:4294967295", ""] {
                ask(&CoreRelocation { offset: 0, ty, access: access.into(), kind });
            }
        }
    }
    match BtfExt::read(more, types) {
        Err(error) => Shape::refused(error),
        Ok(ext) => {
            ext.core.iter().flat_map(|(_, all)| all).for_each(&mut ask);
            Shape::taken(answers.min(1000) << 8 | btf.len().min(255) as u64)
        }
    }
}

pub(super) const PROGRAM: Reader = Reader {
    name: "scx_program",
    about: "programs of the BPF machine: checked, and run if they pass",
    read: read_program,
    words: &[
        "\u{18}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "\u{b7}\0\0\0\u{1}\0\0\0",
        "\u{95}\0\0\0\0\0\0\0",
        "\u{5}\0\0\0\0\0\0\0",
        "\u{85}\0\0\0\u{5}\0\0\0",
        "\u{7}\0\0\0\u{1}\0\0\0",
        "\u{79}\u{12}\0\0\0\0\0\0",
        "\u{7b}\u{1a}\0\0\0\0\0\0",
    ],
    most: 400,
};

/// Maximum number of instructions of a program here.
const BUDGET: u64 = 20_000;

/// A machine without an environment: calls return their arguments.
struct Alone(Vm);

impl Calls for Alone {
    fn vm(&mut self) -> &mut Vm {
        &mut self.0
    }

    fn helper(&mut self, number: u32, args: [u64; 5]) -> Outcome {
        if number > 200 {
            return Err(Fault::new(format!("helper {number} is not emulated")));
        }
        Ok(args[0] ^ u64::from(number))
    }

    fn kfunc(&mut self, _: u32, args: [u64; 5]) -> Outcome {
        Ok(args[1])
    }

    fn poison(&self, _: usize) -> String {
        "it must not be reached".into()
    }
}

fn read_program(input: &[u8]) -> Shape {
    let code = match decode(input) {
        Ok(code) => code,
        Err(at) => return Shape::refused(format!("it is cut short at {at}")),
    };
    if code.is_empty() {
        return Shape::refused("it is empty");
    }
    let mut called = vec![];
    if let Err(flaw) = check(&code, &(0..code.len()), 0, 0b11_1110, &mut called) {
        return Shape::refused(flaw.what);
    }
    let mut machine = Alone(Vm::default());
    let data = machine.0.memory.add("data", input.to_vec(), true);
    machine.0.begin_with(BUDGET);
    let at = schedlab_scx::memory::address(data, 0);
    let outcome = run(&mut machine, &code, 0, [at, at + 8, 1, u64::MAX, 0]);
    let taken = machine.0.insns;
    assert!(
        taken <= BUDGET + 1 + code.len() as u64,
        "{taken} instructions, the budget is {BUDGET}"
    );
    match outcome {
        Ok(_) => Shape::taken(taken.ilog2().into()),
        Err(fault) => {
            assert!(fault.at.is_some(), "it ended without a place: {}", fault.what);
            Shape::refused(fault.what).and(Shape::taken(taken.max(1).ilog2().into()))
        }
    }
}

pub(super) const SETTING: Reader = Reader {
    name: "scx_setting",
    about: "settings of policies, --scx-set",
    read: |input| Shape::of(Setting::read(&super::text(input))),
    words: &["slice_ns=5", "ops.flags=", "map.q.max_entries=", "[3]", "0x", "true", "-", "="],
    most: 60,
};
