//! Pipes and stream sockets: bytes or messages up to a capacity, with tasks that wait on either
//! side.
//!
//! A channel has three lists of waiters: readers, writers, pollers. An event that makes reading (or
//! writing) possible wakes *all* waiters of that side, the most recently queued first, as the
//! kernel walks a wait queue of non-exclusive waiters. Each of them tries again when it runs, and
//! blocks again if another was quicker. [`Wakes::One`] wakes only the task that has waited longest.
//!
//! Capacity is counted in whole messages, as the programs that use channels write and read them:
//!
//! * **socket**: a number of messages, whatever their size (each is charged its buffer, not its
//!   bytes). A read that leaves at most a quarter of them wakes writers.
//! * **pipe before 2.6.11**: 4096 bytes. Every read wakes writers.
//! * **pipe since 2.6.11**: 16 pages of 4096 bytes. A message goes into the newest page if it still
//!   fits there; otherwise it needs a new page. A page is freed, and writers are woken, when its
//!   last message is read.

use schedlab_core::CpuId;

/// A channel, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelId(pub u32);

/// Capacity of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A stream socket that holds a number of messages.
    Socket {
        /// Messages, at least 1.
        messages: u32,
    },
    /// A pipe of one page (before 2.6.11).
    OnePage,
    /// A pipe of sixteen pages (since 2.6.11).
    Pages,
}

/// Tasks that an event on a channel wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wakes {
    /// All tasks that wait on that side, the most recently queued first.
    #[default]
    All,
    /// The task that has waited longest; repeated at every read that leaves room.
    One,
}

/// Size of a page, bytes.
const PAGE_BYTES: u32 = 4096;
/// Number of pages of a pipe since 2.6.11.
const PIPE_PAGES: usize = 16;

/// A page of a pipe.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Bytes that were written to it.
    written: u32,
    /// Bytes of those that have not been read yet.
    unread: u32,
}

/// Contents of a channel.
#[derive(Clone, Debug)]
enum Contents {
    Socket { unread: u32, messages: u32 },
    OnePage { unread: u32 },
    Pages { pages: [Page; PIPE_PAGES], first: usize, used: usize },
}

/// A pipe or a socket.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    contents: Contents,
    /// Tasks that wait to read; the last was queued last.
    pub(super) readers: Vec<u32>,
    /// Tasks that wait to write.
    pub(super) writers: Vec<u32>,
    /// Tasks that wait for something to read without reading it.
    pub(super) pollers: Vec<u32>,
    /// CPU on which the last message was written.
    pub(super) written_on: CpuId,
}

impl Channel {
    pub(super) fn new(capacity: Capacity) -> Channel {
        let contents = match capacity {
            Capacity::Socket { messages } => Contents::Socket { unread: 0, messages },
            Capacity::OnePage => Contents::OnePage { unread: 0 },
            Capacity::Pages => {
                Contents::Pages { pages: [Page::default(); PIPE_PAGES], first: 0, used: 0 }
            }
        };
        Channel {
            contents,
            readers: vec![],
            writers: vec![],
            pollers: vec![],
            written_on: CpuId(0),
        }
    }

    #[inline]
    pub(super) fn is_socket(&self) -> bool {
        matches!(self.contents, Contents::Socket { .. })
    }

    /// Whether a read would find a message.
    pub(super) fn readable(&self) -> bool {
        match &self.contents {
            Contents::Socket { unread, .. } | Contents::OnePage { unread } => *unread > 0,
            Contents::Pages { used, .. } => *used > 0,
        }
    }

    /// Writes a message of `bytes`. Returns whether it fits.
    #[inline]
    pub(super) fn write(&mut self, bytes: u32) -> bool {
        match &mut self.contents {
            Contents::Socket { unread, messages } => {
                let fits = unread < messages;
                *unread += u32::from(fits);
                fits
            }
            Contents::OnePage { unread } => {
                let fits = *unread + bytes <= PAGE_BYTES;
                if fits {
                    *unread += bytes;
                }
                fits
            }
            Contents::Pages { pages, first, used } => {
                if *used > 0 {
                    let newest = &mut pages[(*first + *used - 1) % PIPE_PAGES];
                    if newest.written + bytes <= PAGE_BYTES {
                        newest.written += bytes;
                        newest.unread += bytes;
                        return true;
                    }
                }
                if *used == PIPE_PAGES {
                    return false;
                }
                pages[(*first + *used) % PIPE_PAGES] = Page { written: bytes, unread: bytes };
                *used += 1;
                true
            }
        }
    }

    /// Reads a message of `bytes`. Returns whether writers are to be woken; `None`: there is no
    /// message.
    #[inline]
    pub(super) fn read(&mut self, bytes: u32, wakes: Wakes) -> Option<bool> {
        match &mut self.contents {
            Contents::Socket { unread: 0, .. }
            | Contents::OnePage { unread: 0 }
            | Contents::Pages { used: 0, .. } => None,
            Contents::Socket { unread, messages } => {
                *unread -= 1;
                Some(wakes == Wakes::One || 4 * *unread <= *messages)
            }
            Contents::OnePage { unread } => {
                *unread -= bytes.min(*unread);
                Some(true)
            }
            Contents::Pages { pages, first, used } => {
                let oldest = &mut pages[*first];
                oldest.unread -= bytes.min(oldest.unread);
                let given_back = oldest.unread == 0;
                if given_back {
                    *first = (*first + 1) % PIPE_PAGES;
                    *used -= 1;
                }
                Some(given_back || (wakes == Wakes::One && *used < PIPE_PAGES))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of messages of 100 bytes that fit.
    fn fill(channel: &mut Channel) -> u32 {
        let mut count = 0;
        while channel.write(100) {
            count += 1;
        }
        count
    }

    #[test]
    fn capacities_in_messages_of_100_bytes() {
        assert_eq!(fill(&mut Channel::new(Capacity::Socket { messages: 128 })), 128);
        assert_eq!(fill(&mut Channel::new(Capacity::OnePage)), 40);
        assert_eq!(fill(&mut Channel::new(Capacity::Pages)), 640);
    }

    #[test]
    fn a_socket_lets_its_writers_go_on_at_a_quarter() {
        let mut socket = Channel::new(Capacity::Socket { messages: 128 });
        fill(&mut socket);
        let mut reads = 0;
        while socket.read(100, Wakes::All) == Some(false) {
            reads += 1;
        }
        // The 96th read leaves 32 of 128.
        assert_eq!(reads, 95);
    }

    #[test]
    fn a_page_comes_back_when_its_last_message_is_read() {
        let mut pipe = Channel::new(Capacity::Pages);
        fill(&mut pipe);
        for read in 1..=640 {
            assert_eq!(pipe.read(100, Wakes::All), Some(read % 40 == 0), "read {read}");
        }
        assert_eq!(pipe.read(100, Wakes::All), None);
        // Even if it is the newest and not full.
        assert!(pipe.write(100));
        assert_eq!(pipe.read(100, Wakes::All), Some(true));
    }

    #[test]
    fn a_pipe_of_pages_can_be_full_with_601_messages() {
        let mut pipe = Channel::new(Capacity::Pages);
        fill(&mut pipe);
        for _ in 0..39 {
            pipe.read(100, Wakes::All);
        }
        assert!(!pipe.write(100), "601 messages are unread, and every page is in use");
        pipe.read(100, Wakes::All);
        assert!(pipe.write(100));
    }

    #[test]
    fn one_page_takes_what_was_read_at_once() {
        let mut pipe = Channel::new(Capacity::OnePage);
        fill(&mut pipe);
        assert_eq!(pipe.read(100, Wakes::All), Some(true));
        assert!(pipe.write(100));
        assert!(!pipe.write(100));
    }
}
