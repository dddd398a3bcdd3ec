//! The differences between releases, each of which can be switched on its own: [`Differences`].
//!
//! A release is a set of answers to questions: whether entities request slices of their own,
//! whether a yield forfeits the rest of the request, and so on. Each release answers them by its
//! number, in `releases.rs`. The scheduler asks [`Differences`], which keeps the answers of a
//! release as bits. So one answer of 6.19 can be given to 6.18, to find out which of them changed a
//! workload's figures (`schedlab bisect`).
//!
//! Questions that all releases of a family answer alike have no bit. Neither have those on which
//! the representation of the state depends ([`Switchable`]): they are answered by the release, and
//! the compiler removes what it does not need.

use alloc::vec::Vec;
use schedlab_core::Difference;

/// A question, as lists show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuestionDoc {
    /// Its name, which is that of the method.
    pub name: &'static str,
    /// The question: the text of the method's documentation.
    pub text: &'static str,
}

/// The releases of a family, whose answers can be switched.
pub trait Switchable: Copy {
    /// Questions of all fair classes that can be switched in this family, as bits.
    const SHARED: u128;
    /// Questions of this family alone that can be switched, as bits.
    const OWN: u64;

    /// Returns all questions, in the order of their bits: first the questions of all fair classes,
    /// then the questions of this family alone.
    fn questions() -> [&'static [QuestionDoc]; 2];

    /// Returns this release's answers to them, as bits.
    fn answers(self) -> (u128, u64);
}

/// The answers of a release, of which some may have been switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Differences<V> {
    /// The release.
    pub release: V,
    pub(super) shared: u128,
    pub(super) own: u64,
}

impl<V: Switchable> Differences<V> {
    /// Returns the release's own answers.
    pub fn of(release: V) -> Differences<V> {
        let (shared, own) = release.answers();
        Differences { release, shared, own }
    }

    /// Returns all questions with their answers.
    pub fn list(self) -> Vec<Difference> {
        let difference = |doc: &QuestionDoc, is_on, can_switch| Difference {
            name: doc.name,
            text: doc.text,
            is_on,
            can_switch,
        };
        let [shared, own] = V::questions();
        let shared = shared.iter().enumerate().map(|(place, doc)| {
            let bit = 1 << place;
            difference(doc, self.shared & bit != 0, V::SHARED & bit != 0)
        });
        let own = own.iter().enumerate().map(|(place, doc)| {
            let bit = 1 << place;
            difference(doc, self.own & bit != 0, V::OWN & bit != 0)
        });
        own.chain(shared).collect()
    }

    /// Switches an answer. Returns false if the question does not exist, or cannot be switched.
    pub fn switch(&mut self, name: &str, is_on: bool) -> bool {
        let place = |all: &[QuestionDoc]| all.iter().position(|doc| doc.name == name);
        let [shared, own] = V::questions();
        if let Some(place) = place(shared) {
            let bit = 1 << place;
            self.shared = if is_on { self.shared | bit } else { self.shared & !bit };
            return V::SHARED & bit != 0;
        }
        if let Some(place) = place(own) {
            let bit = 1 << place;
            self.own = if is_on { self.own | bit } else { self.own & !bit };
            return V::OWN & bit != 0;
        }
        false
    }
}

/// Defines the questions that all fair classes have: a trait of releases whose methods they are,
/// the questions by number, and [`Differences`] as such a release.
macro_rules! shared_questions {
    ($(
        $(#[doc = $doc:literal])*
        $(#[inline])?
        fn $name:ident($this:ident) -> bool $default:block
    )*) => {
        /// A release, as the shared part of the class sees it. Each difference has a name. The
        /// defaults describe 6.18.
        pub trait FairVersion: Copy + Debug {
            $(
                $(#[doc = $doc])*
                #[inline]
                fn $name($this) -> bool $default
            )*

            /// How this release handles quotas.
            fn quotas(self) -> BandwidthVersion {
                BandwidthVersion::V5_14
            }
        }

        /// The questions, by number.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SharedQuestion {
            $($name,)*
        }

        /// Returns the bits of some of them.
        pub(super) const fn shared_bits(some: &[SharedQuestion]) -> u128 {
            let (mut bits, mut place) = (0, 0);
            while place < some.len() {
                bits |= 1 << some[place] as u32;
                place += 1;
            }
            bits
        }

        /// The questions, with their texts.
        pub(super) static SHARED_QUESTIONS: &[QuestionDoc] = &[
            $(QuestionDoc { name: stringify!($name), text: concat!($($doc),*) },)*
        ];

        /// Returns the answers of a release, as bits.
        pub(super) fn shared_answers<V: FairVersion>(release: V) -> u128 {
            0 $(| u128::from(release.$name()) << SharedQuestion::$name as u32)*
        }

        impl<V: FairVersion + Switchable> FairVersion for Differences<V> {
            $(
                #[inline]
                fn $name(self) -> bool {
                    const BIT: u128 = 1 << SharedQuestion::$name as u32;
                    match V::SHARED & BIT {
                        0 => self.release.$name(),
                        _ => self.shared & BIT != 0,
                    }
                }
            )*

            fn quotas(self) -> BandwidthVersion {
                self.release.quotas()
            }
        }
    };
}

/// Defines the questions of one family: methods of its releases, the same methods of
/// [`Differences`], and the questions by number.
macro_rules! own_questions {
    (
        for $Version:ident, of which $SHARED:ident and $OWN:ident can be switched;
        $(
            $(#[doc = $doc:literal])*
            pub const fn $name:ident($this:ident) -> bool $body:block
        )*
    ) => {
        impl $Version {
            $(
                $(#[doc = $doc])*
                pub const fn $name($this) -> bool $body
            )*
        }

        /// The questions of this family alone, by number.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum OwnQuestion {
            $($name,)*
        }

        /// Returns the bits of some of them.
        const fn own_bits(some: &[OwnQuestion]) -> u64 {
            let (mut bits, mut place) = (0, 0);
            while place < some.len() {
                bits |= 1 << some[place] as u32;
                place += 1;
            }
            bits
        }

        /// The questions, with their texts.
        static OWN_QUESTIONS: &[QuestionDoc] = &[
            $(QuestionDoc { name: stringify!($name), text: concat!($($doc),*) },)*
        ];

        /// Returns the answers of a release, as bits.
        const fn own_answers(release: $Version) -> u64 {
            0 $(| (release.$name() as u64) << OwnQuestion::$name as u32)*
        }

        impl Switchable for $Version {
            const SHARED: u128 = shared_bits($SHARED);
            const OWN: u64 = own_bits($OWN);

            fn questions() -> [&'static [QuestionDoc]; 2] {
                [SHARED_QUESTIONS, OWN_QUESTIONS]
            }

            fn answers(self) -> (u128, u64) {
                (shared_answers(self), own_answers(self))
            }
        }

        impl Differences<$Version> {
            $(
                $(#[doc = $doc])*
                #[inline]
                pub const fn $name(self) -> bool {
                    const BIT: u64 = 1 << OwnQuestion::$name as u32;
                    match <$Version as Switchable>::OWN & BIT {
                        0 => self.release.$name(),
                        _ => self.own & BIT != 0,
                    }
                }
            )*
        }
    };
}

pub(super) use {own_questions, shared_questions};

/// Returns the questions that `releases` answer differently and that cannot be switched, and those
/// that can be switched although all answer them alike.
#[cfg(test)]
pub(super) fn unswitched<V: Switchable>(releases: &[V]) -> [Vec<&'static str>; 2] {
    let lists: Vec<Vec<Difference>> =
        releases.iter().map(|release| Differences::of(*release).list()).collect();
    let varies = |place: usize| lists.iter().any(|list| list[place].is_on != lists[0][place].is_on);
    let chosen = |wanted: &dyn Fn(usize, &Difference) -> bool| {
        let all = lists[0].iter().enumerate();
        all.filter(|(place, it)| wanted(*place, it)).map(|(_, it)| it.name).collect()
    };
    [
        chosen(&|place, it| varies(place) && !it.can_switch),
        chosen(&|place, it| !varies(place) && it.can_switch),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair_6::eevdf::Version;
    use crate::fair_6::rule_state::FairVersion as _;

    #[test]
    fn a_release_answers_as_its_number_says_until_an_answer_is_switched() {
        let mut differences = Differences::of(Version::V6_19);
        assert!(differences.only_short_children_preempt() && differences.custom_slices());
        assert!(differences.switch("only_short_children_preempt", false));
        assert!(differences.switch("custom_slices", false));
        assert!(!differences.only_short_children_preempt() && !differences.custom_slices());
        assert!(differences.protects_until(), "the others stay");
        assert!(!differences.switch("has_one_tree", true), "the tree is built for it");
        assert!(!differences.has_one_tree());
        assert!(!differences.switch("no_such_thing", true));
        let text = Differences::of(Version::V6_19).list();
        let text = text.iter().find(|it| it.name == "yield_forfeits").expect("a question").text;
        assert!(text.trim().starts_with("Whether `sched_yield` forfeits"), "{text}");
    }
}
