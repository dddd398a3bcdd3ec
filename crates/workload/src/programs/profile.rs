//! Pipes and sockets of a kernel release: [`Profile`].

use super::channel::{Capacity, Wakes};

/// Differences in inter-process communication between releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Capacity of a pipe.
    pub pipe: Capacity,
    /// Capacity of a stream socket.
    pub socket: Capacity,
    /// Tasks that an event on a channel wakes.
    pub channel_wake: Wakes,
    /// Whether a write to a pipe promises the scheduler that the writer will sleep soon.
    pub pipe_sync: bool,
    /// Whether a write to a socket does.
    pub socket_sync: bool,
}

impl Profile {
    /// Returns the profile of the release `version` ("2.4.19", "2.6.32", "6.12"; anything after the
    /// numbers is ignored).
    ///
    /// Pipes had one page before 2.6.11. Stream sockets took about 128 messages of 100 bytes with
    /// the 64 KiB buffers of 2.4 and 2.6, and take about 277 now. The specification does not say
    /// since when. 3.0 is our choice.
    ///
    /// Synchronous wakeups: for 2.4's pipes it is known that only a writer whose data do not fit
    /// promises to sleep (here it has woken its reader before, message by message). A write that is
    /// complete ends with an ordinary wakeup. 2.6 before 2.6.24 is assumed to do the same: 2.6.0
    /// does not count the sleep of a task that is woken synchronously, and if its pipes always woke
    /// so, irman2 would not starve any task under it, but it did. Sockets: since 2.6.30.
    pub fn of(version: &str) -> Profile {
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .map(|part| part.parse::<u32>().unwrap_or(0));
        let mut number = || numbers.next().unwrap_or(0);
        let version = (number(), number(), number());
        let messages = if version < (3, 0, 0) { 128 } else { 277 };
        Profile {
            pipe: if version < (2, 6, 11) { Capacity::OnePage } else { Capacity::Pages },
            socket: Capacity::Socket { messages },
            channel_wake: Wakes::All,
            pipe_sync: version >= (2, 6, 24),
            socket_sync: version >= (2, 6, 30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_differ() {
        assert_eq!(Profile::of("2.4.19").pipe, Capacity::OnePage);
        assert_eq!(Profile::of("2.6.10").pipe, Capacity::OnePage);
        assert_eq!(Profile::of("2.6.22-ck1").pipe, Capacity::Pages);
        assert_eq!(Profile::of("2.6.32").socket, Capacity::Socket { messages: 128 });
        assert_eq!(Profile::of("6.12").socket, Capacity::Socket { messages: 277 });
        assert!(!Profile::of("2.6.22").pipe_sync && Profile::of("2.6.24").pipe_sync);
    }
}
