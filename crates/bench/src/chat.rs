//! chat: rooms whose members talk to each other through a server (after Bill Hartner's `chat_s` and
//! `chat_c`, and VolanoMark).
//!
//! A member has a sending and a receiving task on the client's side and one of each on the
//! server's. After each message, a sender waits until its own receiver has returned it. The server
//! passes each message to all members of the room. Every hop is a message of 100 bytes on a
//! separate socket. This is a model: the source of the program was not available.

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs;
use schedlab_core::SchedAttr;
use schedlab_workload::programs::{
    ChannelId, Context, Kernel, LatchId, Objects, Program, SemaphoreId, SemaphoreKind, Spawn, Step,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The benchmark that this module describes.
pub struct Chat;

const BYTES: u32 = 100;
/// Maximum number of tasks of a run.
const TASKS_MAX: u64 = 1_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter::whole("rooms", (1, 10_000), "10", "rooms").positional(),
    Parameter::whole("messages", (1, 1_000_000), "100", "messages from each member").positional(),
    Parameter::whole("users", (1, 1_000), "20", "members of a room"),
    Parameter::real(
        "nice",
        (-20.0, 19.0),
        "0",
        "nice value of the clients (the announcement's runs: nice chat_c)",
    ),
];

/// Member of a room.
struct Member {
    /// Channel from its client to the server.
    up: ChannelId,
    /// Channel from the server to its client.
    down: ChannelId,
    /// Messages that the server's sending task has to write.
    queue: SemaphoreId,
    /// Its own messages that have come back.
    returned: SemaphoreId,
    /// Senders of the messages in the server's queue, and of those on the way to the client.
    queued: RefCell<VecDeque<u16>>,
    under_way: RefCell<VecDeque<u16>>,
}

impl Member {
    fn new(objects: &mut Objects, users: usize) -> Member {
        Member {
            up: objects.socket(),
            down: objects.socket(),
            queue: objects.semaphore(SemaphoreKind::Syscall, 0),
            returned: objects.semaphore(SemaphoreKind::Syscall, 0),
            // No member has more than one message on the way.
            queued: RefCell::new(VecDeque::with_capacity(users)),
            under_way: RefCell::new(VecDeque::with_capacity(users)),
        }
    }
}

/// State that all tasks share.
struct Shape {
    rooms: u64,
    users: u64,
    messages: u64,
    clients: SchedAttr,
    start: LatchId,
    start_ns: Cell<u64>,
    end_ns: Cell<u64>,
    /// Number of receiving clients that have not received all messages yet.
    left: Cell<u64>,
}

impl Benchmark for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn about(&self) -> &'static str {
        "rooms of members who talk to each other through a server: messages delivered per second"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let (rooms, users) = (values.whole("rooms"), values.whole("users"));
        if rooms * users * 4 > TASKS_MAX {
            let message = format!(
                "{rooms} rooms of {users} members are more than {TASKS_MAX} tasks; give fewer"
            );
            return Err(BadValue::new("rooms", message));
        }
        let shape = Rc::new(Shape {
            rooms,
            users,
            messages: values.whole("messages"),
            clients: SchedAttr::nice(programs::nice(values, "nice")?),
            start: os.objects().latch(),
            start_ns: Cell::new(0),
            end_ns: Cell::new(0),
            left: Cell::new(rooms * users),
        });
        os.start(conditions.start_ns(), Spawn::new("chat", parent(shape.clone())));
        // An hour, and ten times the time that one CPU needs for the messages.
        let limit_ns =
            (rooms * users * users).saturating_mul(shape.messages).saturating_mul(40_000);
        let limit_ns = Some(limit_ns.saturating_add(3_600_000_000_000));
        Ok(Prepared { limit_ns, finish: Box::new(move |end| findings(&shape, end)) })
    }
}

fn findings(shape: &Shape, _end: &End<'_>) -> Findings {
    if shape.left.get() > 0 {
        return Findings::new("cut off before all messages were delivered\n".into(), vec![]);
    }
    let time_s = (shape.end_ns.get() - shape.start_ns.get()) as f64 / 1e9;
    let delivered = shape.rooms * shape.users * shape.users * shape.messages;
    let rate = delivered as f64 / time_s;
    let printed = format!(
        "{} rooms of {} users, {} messages each\nTotal messages {delivered}\nElapsed time {time_s:.3} s\n\
         Average throughput {rate:.0} messages per second\n",
        shape.rooms, shape.users, shape.messages
    );
    Findings::new(
        printed,
        vec![Figure::higher("messages a second", "1/s", rate), Figure::lower("time", "s", time_s)],
    )
}

/// Starts all tasks, room by room and member by member, and releases them.
fn parent(shape: Rc<Shape>) -> impl Program + 'static {
    let mut members: Rc<[Member]> = [].into();
    let mut made = 0;
    let mut opened = false;
    move |os: &mut Context<'_>| {
        let tasks = shape.rooms * shape.users * 4;
        if made == tasks {
            if std::mem::replace(&mut opened, true) {
                return Step::Exit;
            }
            shape.start_ns.set(os.now_ns());
            return Step::Open(shape.start);
        }
        let (member, role) = ((made / 4 % shape.users) as usize, made % 4);
        if member == 0 && role == 0 {
            members =
                (0..shape.users).map(|_| Member::new(os.objects(), shape.users as usize)).collect();
        }
        made += 1;
        let (shape, members) = (shape.clone(), members.clone());
        let clients = shape.clients;
        Step::Fork(Box::new(match role {
            0 => Spawn::new("chat_s receiver", server_receiver(shape, members, member)),
            1 => Spawn::new("chat_s sender", server_sender(shape, members, member)),
            2 => {
                Spawn::new("chat_c receiver", client_receiver(shape, members, member)).attr(clients)
            }
            _ => Spawn::new("chat_c sender", client_sender(shape, members, member)).attr(clients),
        }))
    }
}

fn client_sender(shape: Rc<Shape>, members: Rc<[Member]>, me: usize) -> impl Program + 'static {
    let mut steps = 0;
    move |_: &mut Context<'_>| {
        let number = steps;
        steps += 1;
        match number {
            0 => Step::Pass(shape.start),
            _ if number > 2 * shape.messages => Step::Exit,
            _ if number % 2 == 1 => Step::Write(members[me].up, BYTES),
            _ => Step::Wait(members[me].returned),
        }
    }
}

/// Reads a member's messages, and puts each into the queues of all members.
fn server_receiver(shape: Rc<Shape>, members: Rc<[Member]>, me: usize) -> impl Program + 'static {
    let mut started = false;
    let mut left = shape.messages;
    // Members to which the last message still has to be passed, from here on.
    let mut to = members.len();
    move |_: &mut Context<'_>| {
        if !std::mem::replace(&mut started, true) {
            return Step::Pass(shape.start);
        }
        if let Some(member) = members.get(to) {
            to += 1;
            member.queued.borrow_mut().push_back(me as u16);
            return Step::Post(member.queue);
        }
        if left == 0 {
            return Step::Exit;
        }
        left -= 1;
        to = 0;
        Step::Read(members[me].up, BYTES)
    }
}

/// Writes the messages in a member's queue to its client.
fn server_sender(shape: Rc<Shape>, members: Rc<[Member]>, me: usize) -> impl Program + 'static {
    let mut started = false;
    let mut left = shape.messages * shape.users;
    let mut has = false;
    move |_: &mut Context<'_>| {
        let member = &members[me];
        if !std::mem::replace(&mut started, true) {
            return Step::Pass(shape.start);
        }
        if std::mem::replace(&mut has, false) {
            let from = member
                .queued
                .borrow_mut()
                .pop_front()
                .expect("the semaphore counts what is queued");
            member.under_way.borrow_mut().push_back(from);
            return Step::Write(member.down, BYTES);
        }
        if left == 0 {
            return Step::Exit;
        }
        left -= 1;
        has = true;
        Step::Wait(member.queue)
    }
}

fn client_receiver(shape: Rc<Shape>, members: Rc<[Member]>, me: usize) -> impl Program + 'static {
    let mut started = false;
    let mut left = shape.messages * shape.users;
    let mut has = false;
    move |os: &mut Context<'_>| {
        let member = &members[me];
        if !std::mem::replace(&mut started, true) {
            return Step::Pass(shape.start);
        }
        if std::mem::replace(&mut has, false) {
            let from = member
                .under_way
                .borrow_mut()
                .pop_front()
                .expect("a message that was read was on the way");
            if usize::from(from) == me {
                return Step::Post(member.returned);
            }
        }
        if left == 0 {
            shape.left.set(shape.left.get() - 1);
            shape.end_ns.set(os.now_ns());
            return Step::Exit;
        }
        left -= 1;
        has = true;
        Step::Read(member.down, BYTES)
    }
}
