//! The last part of a run, with access to every moment: [`Film`], in bounded memory.
//!
//! Events are kept as [`Note`]s, in pieces that each begin with the [`Scene`] at that time. When
//! there is no more room, the oldest piece is dropped. To see that piece again, repeat the run.

use crate::scene::{Note, Scene};
use schedlab_core::{Event, Observer, TaskTable};
use std::collections::VecDeque;

/// Minimum number of notes in a piece. With many tasks pieces have more, so that most of the room
/// is for notes.
const NOTES: usize = 4096;

/// A piece of a film.
#[derive(Clone, Debug)]
struct Piece {
    /// Scene before the first note.
    before: Scene,
    /// Notes with their times, ns.
    notes: Vec<(u64, Note)>,
}

impl Piece {
    fn bytes(&self) -> usize {
        self.before.bytes() + self.notes.capacity() * size_of::<(u64, Note)>()
    }

    /// Returns the index of the first note after `at_ns`.
    fn end_of(&self, at_ns: u64) -> usize {
        self.notes.partition_point(|&(when_ns, _)| when_ns <= at_ns)
    }
}

/// Result of a search in a film.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup<T> {
    /// The value that was found.
    Found(T),
    /// There is no such value.
    Absent,
    /// The film no longer holds that part of the run.
    Gone,
}

/// An observer that keeps the last part of a run.
#[derive(Clone, Debug)]
pub struct Film {
    /// Oldest first; the last piece is being filled.
    pieces: VecDeque<Piece>,
    /// Scene after all notes.
    now: Scene,
    /// Names of tasks, by number. They are never dropped.
    names: TaskTable<String>,
    /// Bytes that pieces may take, and bytes that all but the last take.
    room: usize,
    taken: usize,
    /// Whether pieces were dropped.
    cut: bool,
}

impl Film {
    /// Creates a film of a machine with `cpus` CPUs. Pieces take at most about `room` bytes.
    pub fn new(cpus: u32, room: usize) -> Film {
        let now = Scene::new(cpus);
        let first = Piece { before: now.clone(), notes: vec![] };
        Film {
            pieces: VecDeque::from([first]),
            now,
            names: TaskTable::new(),
            room,
            taken: 0,
            cut: false,
        }
    }

    /// Returns the scene after all events.
    pub fn now(&self) -> &Scene {
        &self.now
    }

    /// Returns the names of tasks, by number; empty for tasks that have not appeared.
    pub fn names(&self) -> &TaskTable<String> {
        &self.names
    }

    /// Whether the film holds everything from the beginning.
    pub fn is_whole(&self) -> bool {
        !self.cut
    }

    /// Returns the earliest time that the film holds, ns.
    pub fn from_ns(&self) -> u64 {
        if !self.cut {
            return 0;
        }
        self.pieces[0].notes.first().map_or(u64::MAX, |&(at_ns, _)| at_ns)
    }

    /// Returns the index of the piece for `at_ns`. All notes of that nanosecond are in it or before
    /// it.
    fn piece(&self, at_ns: u64) -> usize {
        let begins = |piece: &Piece| piece.notes.first().is_some_and(|&(first, _)| first <= at_ns);
        self.pieces.partition_point(begins).saturating_sub(1)
    }

    /// Returns the scene after all events at `at_ns`; `None`: the film no longer holds that time.
    pub fn scene(&self, at_ns: u64) -> Option<Scene> {
        if at_ns < self.from_ns() {
            return None;
        }
        let piece = &self.pieces[self.piece(at_ns)];
        let mut scene = piece.before.clone();
        for (when_ns, note) in &piece.notes[..piece.end_of(at_ns)] {
            scene.apply(*when_ns, note);
        }
        Some(scene)
    }

    /// Returns the time of the first decision after `at_ns`, among events so far.
    pub fn next_decision(&self, at_ns: u64) -> Lookup<u64> {
        if at_ns < self.from_ns() {
            return Lookup::Gone;
        }
        let first = self.piece(at_ns);
        let notes = self.pieces.range(first..).flat_map(|piece| &piece.notes);
        let found = notes.filter(|(when_ns, _)| *when_ns > at_ns).find(|(_, it)| it.is_decision());
        found.map_or(Lookup::Absent, |&(when_ns, _)| Lookup::Found(when_ns))
    }

    /// Returns the time of the last decision before `at_ns`.
    pub fn previous_decision(&self, at_ns: u64) -> Lookup<u64> {
        let last = self.piece(at_ns);
        let notes = self.pieces.range(..=last).rev().flat_map(|piece| piece.notes.iter().rev());
        let found = notes.filter(|(when_ns, _)| *when_ns < at_ns).find(|(_, it)| it.is_decision());
        match found {
            // The first instant that is left may have lost its beginning. Its time is right.
            Some(&(when_ns, _)) => Lookup::Found(when_ns),
            None if self.cut => Lookup::Gone,
            None => Lookup::Absent,
        }
    }

    /// Returns the decisions of one nanosecond, in order.
    pub fn decisions_at(&self, at_ns: u64) -> Vec<Note> {
        let last = self.piece(at_ns);
        // They may begin in earlier pieces.
        let first = at_ns.checked_sub(1).map_or(0, |before_ns| self.piece(before_ns));
        let notes = self.pieces.range(first..=last).flat_map(|piece| &piece.notes);
        let found = notes.filter(|(when_ns, it)| *when_ns == at_ns && it.is_decision());
        found.map(|&(_, note)| note).collect()
    }

    /// Begins a new piece.
    fn cut(&mut self) {
        self.taken += self.pieces.back().map_or(0, Piece::bytes);
        while self.taken > self.room && self.pieces.len() > 2 {
            let gone = self.pieces.pop_front().map_or(0, |piece| piece.bytes());
            self.taken -= gone;
            self.cut = true;
        }
        self.pieces.push_back(Piece { before: self.now.clone(), notes: vec![] });
    }
}

impl Observer for Film {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Named { task, name } = event {
            self.names.insert(task, name.into());
            return;
        }
        let Some(note) = Note::of(&event) else { return };
        let enough = NOTES.max(4 * self.now.tasks.len());
        if self.pieces.back().is_none_or(|piece| piece.notes.len() >= enough) {
            self.cut();
        }
        self.now.apply(now_ns, &note);
        if let Some(piece) = self.pieces.back_mut() {
            piece.notes.push((now_ns, note));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Doing;
    use schedlab_core::{CpuId, TaskId};

    const CPU: CpuId = CpuId(0);

    /// Makes two tasks alternate: task (n mod 2) has the CPU from 10 n on.
    fn turns(film: &mut Film, turns: u64) {
        for task in [0, 1] {
            film.on(0, Event::Named { task: TaskId(task), name: "hog" });
            film.on(0, Event::started(TaskId(task), CPU));
        }
        for turn in 0..turns {
            let task = |turn: u64| TaskId((turn % 2) as u32);
            let prev = turn.checked_sub(1).map(task);
            let event = Event::switched(CPU, prev, true, Some(task(turn)));
            film.on(10 * turn, event);
        }
    }

    #[test]
    fn every_moment_of_a_whole_film_can_be_seen() {
        let mut film = Film::new(1, usize::MAX);
        turns(&mut film, 20_000);
        assert!(film.is_whole() && film.pieces.len() > 3);
        for turn in [0, 1, 4093, 4094, 4095, 4096, 4097, 8191, 8192, 19_999] {
            let scene = film.scene(10 * turn + 9).expect("the film holds the whole run");
            assert_eq!(scene.cpus[0].current, Some(TaskId((turn % 2) as u32)), "{turn}");
            assert_eq!(scene.cpus[0].switches, turn + 1);
            let row = scene.task(TaskId(0)).expect("the task has appeared");
            let (full, part) = ((turn / 2) * 10, if turn % 2 == 0 { 9 } else { 10 });
            assert_eq!(row.cpu_ns(10 * turn + 9), full + part, "{turn}");
            assert_eq!(
                film.next_decision(10 * turn - u64::from(turn > 0)),
                match turn {
                    0 => Lookup::Found(10),
                    turn => Lookup::Found(10 * turn),
                }
            );
            assert_eq!(film.previous_decision(10 * turn + 1), Lookup::Found(10 * turn));
        }
        assert_eq!(film.next_decision(199_990), Lookup::Absent);
        assert_eq!(film.previous_decision(0), Lookup::Absent);
        assert_eq!(film.decisions_at(0).len(), 3);
        assert_eq!(film.decisions_at(11), []);
        assert_eq!(film.names()[TaskId(1)], "hog");
    }

    #[test]
    fn the_oldest_goes_and_what_is_left_is_right() {
        let room = 400_000;
        let mut film = Film::new(1, room);
        turns(&mut film, 100_000);
        assert!(!film.is_whole() && film.taken < 2 * room);
        let from_ns = film.from_ns();
        assert!(from_ns > 500_000 && film.scene(from_ns - 1).is_none());
        assert_eq!(film.next_decision(from_ns - 1), Lookup::Gone);
        assert_eq!(film.previous_decision(from_ns), Lookup::Gone);
        let scene = film.scene(from_ns).expect("the film holds that time");
        assert_eq!(scene.cpus[0].switches, from_ns / 10 + 1);
        let end = film.scene(999_999).expect("the film holds that time");
        assert_eq!(end.task(TaskId(0)).map(|row| row.cpu_ns(1_000_000)), Some(500_000));
        assert_eq!(end.task(TaskId(0)).map(|row| row.doing), Some(Doing::Waiting));
        assert_eq!(film.next_decision(999_990), Lookup::Absent);
    }

    /// Notes of one nanosecond that fall into two pieces are returned together.
    #[test]
    fn an_instant_is_one_even_if_a_piece_ends_in_it() {
        let mut film = Film::new(1, usize::MAX);
        film.on(7, Event::started(TaskId(0), CPU));
        for turn in 0..5000 {
            let (prev, next) =
                if turn % 2 == 0 { (None, Some(TaskId(0))) } else { (Some(TaskId(0)), None) };
            film.on(7, Event::switched(CPU, prev, true, next));
        }
        film.on(8, Event::switched(CPU, None, false, Some(TaskId(0))));
        assert!(film.pieces.len() > 1);
        let scene = film.scene(7).expect("the film holds the whole run");
        assert_eq!(scene.cpus[0].switches, 5000);
        assert_eq!(film.decisions_at(7).len(), 5001);
        assert_eq!(film.next_decision(6), Lookup::Found(7));
        assert_eq!(film.previous_decision(8), Lookup::Found(7));
        assert_eq!(film.scene(6).expect("the film holds the whole run").tasks.len(), 0);
    }
}
