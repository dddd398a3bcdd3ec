//! Rules of priority inheritance: which waiter lends to which task, and what is left when mutexes
//! are released in any order or handed over.

use super::mutex::{MutexId, MutexKind};
use super::step::{Spawn, Step};
use super::{Context, Kernel, Profile};
use schedlab_core::{Policy, SchedAttr};
use schedlab_machine::costs::CallCosts;

/// Tasks 0, 1, ... with these real-time priorities; 0: ordinary.
fn kernel(priorities: &[u32]) -> Kernel {
    let mut kernel = Kernel::new(Profile::of("2.6.0"), CallCosts::default(), 1);
    for &priority in priorities {
        let attr = match priority {
            0 => SchedAttr::nice(5),
            _ => SchedAttr::realtime(Policy::Fifo, priority),
        };
        kernel.start(0, Spawn::new("task", |_: &mut Context<'_>| Step::Exit).attr(attr));
    }
    kernel
}

fn mutex(kernel: &mut Kernel) -> MutexId {
    kernel.objects().mutex(MutexKind::Inherit)
}

fn lock(kernel: &mut Kernel, task: u32, mutex: MutexId) {
    assert!(kernel.try_lock(task, mutex), "task {task}");
}

/// Makes the task find the mutex taken and wait.
fn wait(kernel: &mut Kernel, task: u32, mutex: MutexId) {
    assert!(!kernel.try_lock(task, mutex), "task {task}");
    kernel.wait_for_mutex(0, task, mutex, false);
}

/// Returns the priority of a task in the scheduler; 0: ordinary.
fn priority(kernel: &Kernel, task: u32) -> u32 {
    kernel.effective(task).rt_priority
}

#[test]
fn the_most_urgent_waiter_lends_and_is_the_heir() {
    // Task 0 has it; 10, 30 and 20 wait, in this order.
    let mut k = kernel(&[0, 10, 30, 20]);
    let m = mutex(&mut k);
    lock(&mut k, 0, m);
    for (task, lent) in [(1, 10), (2, 30), (3, 30)] {
        wait(&mut k, task, m);
        assert_eq!(priority(&k, 0), lent);
    }
    // Its nice value remains its own.
    assert_eq!(k.effective(0).nice, 5);
    // Handed over by urgency. Each keeps its own priority, which is higher than what is lent.
    for (owner, heir) in [(0, 2), (2, 3), (3, 1)] {
        k.release(owner, m);
        assert!(k.try_lock(heir, m), "it is handed over to task {heir}");
        assert_eq!(priority(&k, 0), 0, "task 0 is ordinary again");
        assert_eq!(priority(&k, heir), [0, 10, 30, 20][heir as usize]);
    }
    k.release(1, m);
    assert!(!k.is_wanted(m));
    lock(&mut k, 0, m);
}

#[test]
fn the_heir_inherits_from_who_waits_after_the_hand_over() {
    let mut k = kernel(&[0, 0, 40, 50]);
    let m = mutex(&mut k);
    lock(&mut k, 0, m);
    wait(&mut k, 1, m);
    k.release(0, m);
    // Task 1 owns it without having tried again. A task that comes now lends to task 1, not to task
    // 0.
    wait(&mut k, 2, m);
    assert_eq!([0, 1].map(|task| priority(&k, task)), [0, 40]);
    wait(&mut k, 3, m);
    assert_eq!([0, 1].map(|task| priority(&k, task)), [0, 50]);
    k.release(1, m);
    assert_eq!([1, 3].map(|task| priority(&k, task)), [0, 50]);
    k.release(3, m);
    k.release(2, m);
    assert!(!k.is_wanted(m));
}

#[test]
fn waiters_left_behind_lend_to_the_heir() {
    // Two ordinary tasks and one of 20 wait in a chain. Task 1, which waits for a, holds b, for
    // which 20 waits. So task 1 is queued with 20, and gets a before task 2 of 10.
    let mut k = kernel(&[0, 0, 10, 20]);
    let (a, b) = (mutex(&mut k), mutex(&mut k));
    lock(&mut k, 0, a);
    lock(&mut k, 1, b);
    wait(&mut k, 2, a);
    wait(&mut k, 1, a);
    assert_eq!(priority(&k, 0), 10);
    wait(&mut k, 3, b);
    // 20 passes through task 1 to task 0.
    assert_eq!([0, 1].map(|task| priority(&k, task)), [20, 20]);
    k.release(0, a);
    assert!(k.try_lock(1, a));
    // Task 1 holds both. Without b it has the priority of the waiter for a: 10.
    k.release(1, b);
    assert_eq!([0, 1, 3].map(|task| priority(&k, task)), [0, 10, 20]);
    k.release(1, a);
    assert_eq!([1, 2].map(|task| priority(&k, task)), [0, 10]);
}

#[test]
fn mutexes_are_released_in_any_order() {
    // Task 0 holds three mutexes, for which 10, 20 and 30 wait. The remaining waiters lend.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut k = kernel(&[0, 10, 20, 30]);
        let all = [mutex(&mut k), mutex(&mut k), mutex(&mut k)];
        all.iter().for_each(|&m| lock(&mut k, 0, m));
        for (task, &m) in (1..).zip(&all) {
            wait(&mut k, task, m);
        }
        assert_eq!(priority(&k, 0), 30);
        let mut left = vec![10, 20, 30];
        for which in order {
            k.release(0, all[which]);
            left.retain(|&priority| priority != 10 * (which as u32 + 1));
            let lent = left.last().copied().unwrap_or(0);
            assert_eq!(priority(&k, 0), lent, "{order:?}, after {which}");
            assert!(k.try_lock(which as u32 + 1, all[which]));
        }
        // The lists of the heirs are also in order.
        for (task, &m) in (1..).zip(&all) {
            k.release(task, m);
            lock(&mut k, 0, m);
        }
        for &m in &all {
            k.release(0, m);
        }
    }
}
