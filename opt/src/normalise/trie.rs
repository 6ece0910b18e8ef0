//! A persistent map from numbers. A region's environment is extended at every let while the maps made before it keep theirs, so what a let
//! costs is what a version of the map costs that differs in one entry: here a branch of two pointers for each binary digit that tells the entry from others
//! (a Patricia tree; Okasaki and Gill 1998), where a hash trie or a B-tree copies nodes of dozens of entries.

use lang::name::Var;
use std::rc::Rc;

/// What stands for a number.
pub trait Number: Clone {
    fn number(&self) -> usize;
}

impl Number for Var {
    fn number(&self) -> usize {
        self.id as usize
    }
}
impl Number for usize {
    fn number(&self) -> usize {
        *self
    }
}

/// A map from K to V, in the order of the numbers.
#[derive(Clone)]
pub struct Trie<K, V> {
    root: Option<Rc<Node<K, V>>>,
    len: usize,
}

#[derive(Clone)]
enum Node<K, V> {
    Leaf(K, V),
    /// The numbers below agree with `prefix` above the digit 1 << bit, which is 0 on the left and 1 on the right.
    Branch {
        prefix: usize,
        bit: u32,
        left: Rc<Node<K, V>>,
        right: Rc<Node<K, V>>,
    },
}

use Node::{Branch, Leaf};

impl<K, V> Default for Trie<K, V> {
    fn default() -> Trie<K, V> {
        Trie { root: None, len: 0 }
    }
}

impl<K: Number, V: Clone> Trie<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let key = key.number();
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Leaf(k, v) => return (k.number() == key).then_some(v),
                Branch { bit, left, right, .. } => node = if goes_right(key, *bit) { right } else { left },
            }
        }
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let key = key.number();
        let mut node = Rc::make_mut(self.root.as_mut()?);
        loop {
            match node {
                Leaf(k, v) => return (k.number() == key).then_some(v),
                Branch { bit, left, right, .. } => {
                    node = Rc::make_mut(if goes_right(key, *bit) { right } else { left });
                }
            }
        }
    }

    pub fn insert(&mut self, key: K, value: V) {
        let new = match &mut self.root {
            Some(root) => insert(root, key.number(), Rc::new(Leaf(key, value))),
            None => {
                self.root = Some(Rc::new(Leaf(key, value)));
                true
            }
        };
        self.len += usize::from(new);
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.get(key)?.clone();
        self.root = self.root.take().and_then(|root| without(root, key.number()));
        self.len -= 1;
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut rest: Vec<&Node<K, V>> = self.root.as_deref().into_iter().collect();
        std::iter::from_fn(move || {
            loop {
                match rest.pop()? {
                    Leaf(k, v) => return Some((k, v)),
                    Branch { left, right, .. } => rest.extend([&**right, &**left]),
                }
            }
        })
    }
}

impl<K: Number, V: Clone> FromIterator<(K, V)> for Trie<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Trie<K, V> {
        let mut out = Trie::default();
        out.extend(entries);
        out
    }
}

impl<K: Number, V: Clone> Extend<(K, V)> for Trie<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(k, v)| self.insert(k, v));
    }
}

fn goes_right(key: usize, bit: u32) -> bool {
    key >> bit & 1 == 1
}

/// Puts a leaf with this number below a node; whether the number is new there.
fn insert<K: Number, V: Clone>(node: &mut Rc<Node<K, V>>, key: usize, leaf: Rc<Node<K, V>>) -> bool {
    let (differ, below) = match &**node {
        Leaf(k, _) => (k.number() ^ key, None),
        Branch { prefix, bit, .. } => ((prefix ^ key) >> bit >> 1 << bit << 1, Some(*bit)),
    };
    match (differ, below) {
        (0, None) => {
            *node = leaf;
            false
        }
        (0, Some(bit)) => {
            let Branch { left, right, .. } = Rc::make_mut(node) else { unreachable!("it has a digit") };
            insert(if goes_right(key, bit) { right } else { left }, key, leaf)
        }
        _ => {
            let bit = differ.ilog2();
            let (left, right) =
                if goes_right(key, bit) { (node.clone(), leaf) } else { (leaf, node.clone()) };
            *node = Rc::new(Branch { prefix: key, bit, left, right });
            true
        }
    }
}

/// A node without the entry of a number that it has.
fn without<K: Number, V: Clone>(mut node: Rc<Node<K, V>>, key: usize) -> Option<Rc<Node<K, V>>> {
    let Branch { bit, left, right, .. } = &*node else { return None };
    let right_side = goes_right(key, *bit);
    let (side, other) = if right_side { (right, left) } else { (left, right) };
    if let Leaf(..) = &**side {
        return Some(other.clone());
    }
    let Branch { left, right, .. } = Rc::make_mut(&mut node) else { unreachable!("it is a branch") };
    let side = if right_side { right } else { left };
    *side = without(side.clone(), key)?;
    Some(node)
}

#[test]
fn it_is_a_map_whose_versions_are_apart() {
    let mut versions: Vec<(Trie<usize, usize>, std::collections::BTreeMap<usize, usize>)> = vec![];
    let mut now = (Trie::default(), std::collections::BTreeMap::new());
    let mut seed = 1usize;
    for step in 0..2000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let key = seed >> 33 & 127;
        match seed >> 60 & 3 {
            0 => assert_eq!(now.0.remove(&key), now.1.remove(&key)),
            1 => assert_eq!(now.0.get_mut(&key).map(|v| *v += 1), now.1.get_mut(&key).map(|v| *v += 1)),
            _ => {
                now.0.insert(key, step);
                now.1.insert(key, step);
            }
        }
        if step % 50 == 0 {
            versions.push(now.clone());
        }
    }
    for (ours, known) in versions {
        assert_eq!(ours.len(), known.len());
        assert!(ours.iter().eq(known.iter()));
        assert!((0..128).all(|k| ours.get(&k) == known.get(&k)));
    }
}
