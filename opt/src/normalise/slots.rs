//! The slots of a sparse environment that are not 0̲, by level from the bottom.
//!
//! An environment is passed from let to let of the program, each of which takes one slot from it and adds to a few. What a let costs must not
//! depend on the others, so the slots that were added to since the environment was last shared are told apart.

use super::trie::Trie;
use super::value::LV;
use std::collections::BTreeSet;

#[derive(Clone, Default)]
pub struct Slots {
    all: Trie<usize, LV>,
    /// The levels whose values may have to be bound before they are used twice.
    loose: BTreeSet<usize>,
}

impl Slots {
    pub fn one(level: usize, v: LV) -> Slots {
        [(level, v)].into_iter().collect()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    pub fn get(&self, level: usize) -> Option<&LV> {
        self.all.get(&level)
    }
    pub fn iter(&self) -> impl Iterator<Item = (usize, &LV)> {
        self.all.iter().map(|(k, v)| (*k, v))
    }
    pub fn values(&self) -> impl Iterator<Item = &LV> {
        self.all.iter().map(|(_, v)| v)
    }

    pub fn insert(&mut self, level: usize, v: LV) {
        self.all.insert(level, v);
        self.loose.insert(level);
    }
    pub fn remove(&mut self, level: usize) -> Option<LV> {
        self.loose.remove(&level);
        self.all.remove(&level)
    }

    /// All values as `share` makes them, which need not see again what it has made.
    pub fn share(&mut self, mut share: impl FnMut(LV) -> LV) {
        for level in std::mem::take(&mut self.loose) {
            if let Some(v) = self.all.get_mut(&level) {
                *v = share(std::mem::replace(v, LV::unit()));
            }
        }
    }
}

impl FromIterator<(usize, LV)> for Slots {
    fn from_iter<I: IntoIterator<Item = (usize, LV)>>(slots: I) -> Slots {
        let mut out = Slots::default();
        slots.into_iter().for_each(|(level, v)| out.insert(level, v));
        out
    }
}
