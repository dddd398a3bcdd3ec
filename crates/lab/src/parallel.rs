//! Applies a function to many items on several threads, with results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Number of results for each thread that may wait for the caller.
const AHEAD: usize = 8;

/// Returns the number of threads: as many as the machine has cores.
pub fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Applies `work` to every item on `threads` threads. `ready` receives the results on the calling
/// thread, in the order of the items. If it returns false, no further item begins.
///
/// With one thread, or one item, no thread starts: the calling thread does the work.
pub fn for_each_in_order<T, R>(
    items: &[T],
    threads: NonZeroUsize,
    work: impl Fn(&T) -> R + Sync,
    mut ready: impl FnMut(usize, R) -> bool,
) where
    T: Sync,
    R: Send,
{
    if threads.get().min(items.len()) <= 1 {
        for (index, item) in items.iter().enumerate() {
            if !ready(index, work(item)) {
                return;
            }
        }
        return;
    }
    let next = AtomicUsize::new(0);
    // Bounds the lead over a caller that is busy with a result and may be about to stop.
    let (sender, receiver) = mpsc::sync_channel(AHEAD * threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(items.len()) {
            let sender = sender.clone();
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut turn = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&turn) {
                if !ready(turn, result) {
                    next.store(items.len(), Ordering::Relaxed);
                    return;
                }
                turn += 1;
            }
        }
    });
}

/// Applies `work` to every item on `threads` threads. Returns the results in the order of the
/// items.
pub fn map<T, R>(items: &[T], threads: NonZeroUsize, work: impl Fn(&T) -> R + Sync) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let mut results = Vec::with_capacity(items.len());
    for_each_in_order(items, threads, work, |_, result| {
        results.push(result);
        true
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..500).collect();
        let slow_first = |&item: &u64| {
            // Early items take longer, so that later ones overtake them.
            (0..(500 - item) * 50).fold(item, |sum, step| std::hint::black_box(sum ^ step));
            item * 2
        };
        let expected: Vec<u64> = items.iter().map(|item| item * 2).collect();
        for count in [1, 2, 7] {
            assert_eq!(map(&items, threads(count), slow_first), expected);
        }
        assert_eq!(map(&[], threads(3), slow_first), [0u64; 0]);
    }

    #[test]
    fn one_thread_is_the_callers() {
        let mut seen = vec![];
        let work = |&item: &usize| (item, std::thread::current().id());
        for_each_in_order(&[1, 2, 3], threads(1), work, |_, result| {
            seen.push(result);
            seen.len() < 2
        });
        let here = std::thread::current().id();
        assert_eq!(seen, [(1, here), (2, here)]);
    }

    #[test]
    fn a_no_ends_the_work_early() {
        // Whatever the timing of the threads, all items except the first three wait until the
        // caller stops, and then there is room for only a few results.
        let begun = AtomicUsize::new(0);
        let (said_no, no) = (Mutex::new(false), Condvar::new());
        let items: Vec<usize> = (0..1000).collect();
        let mut seen = vec![];
        for_each_in_order(
            &items,
            threads(2),
            |&item| {
                begun.fetch_add(1, Ordering::Relaxed);
                if item > 2 {
                    let refused = said_no.lock().unwrap();
                    drop(no.wait_while(refused, |refused| !*refused).unwrap());
                }
            },
            |index, ()| {
                seen.push(index);
                if index == 2 {
                    *said_no.lock().unwrap() = true;
                    no.notify_all();
                }
                index < 2
            },
        );
        assert_eq!(seen, [0, 1, 2]);
        assert!(begun.into_inner() <= 3 + (AHEAD + 2) * 2);
    }
}
