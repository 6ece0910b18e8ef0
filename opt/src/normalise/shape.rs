//! Linear values taken apart: sums, components, terms, common shapes.

use super::linear::{is_path, one_or_tuple_type};
use super::slots::Slots;
use super::value::LV;
use super::{Item, Normaliser};
use crate::Error;
use lang::size::Size;
use lang::target::{LBinder, Lin, make};
use lang::types::LType;
use std::rc::Rc;

impl Normaliser<'_> {
    /// (0̲, +) is a monoid; + of products is the product of +.
    pub fn plus(&mut self, a: LV, b: LV) -> Result<LV, Error> {
        Ok(match (a, b) {
            (LV::Marked(m, ty, r), b) => LV::Marked(m, ty, Rc::new(self.plus((*r).clone(), b)?)),
            (a, LV::Marked(m, ty, r)) => LV::Marked(m, ty, Rc::new(self.plus(a, (*r).clone())?)),
            (a, b) if b.is_zero() => a,
            (a, b) if a.is_zero() => b,
            (LV::Env(ty, a), LV::Env(_, mut b)) if a.len() < b.len() => {
                for (k, u) in a.iter() {
                    let sum = match b.remove(k) {
                        Some(v) => self.plus(u.clone(), v)?,
                        None => u.clone(),
                    };
                    b.insert(k, sum);
                }
                LV::Env(ty, b)
            }
            (LV::Env(ty, mut a), LV::Env(_, b)) => {
                for (k, v) in b.iter() {
                    let sum = match a.remove(k) {
                        Some(u) => self.plus(u, v.clone())?,
                        None => v.clone(),
                    };
                    a.insert(k, sum);
                }
                LV::Env(ty, a)
            }
            (a @ (LV::Tuple(_) | LV::Env(..)), b) | (a, b @ (LV::Tuple(_) | LV::Env(..))) => {
                let k = match a.ty() {
                    LType::Tuple(ts) => ts.len(),
                    other => unreachable!("compiler bug: a tuple of linear type {other:?}"),
                };
                let sums: Result<Vec<LV>, Error> = (0..k)
                    .map(|i| {
                        let (a, b) = (self.lin_proj(a.clone(), i)?, self.lin_proj(b.clone(), i)?);
                        self.plus(a, b)
                    })
                    .collect();
                LV::tuple(sums?)
            }
            (LV::OneHot(n, i, a), LV::OneHot(_, j, b)) if i == j => {
                let sum = self.plus((*a).clone(), (*b).clone())?;
                LV::OneHot(n, i, Rc::new(sum))
            }
            (LV::Rep(n, a), LV::Rep(_, b)) => {
                let sum = self.plus((*a).clone(), (*b).clone())?;
                LV::Rep(n, Rc::new(sum))
            }
            (a, b) => {
                let ty = a.ty();
                LV::Term(make::plus(self.reify_lin(&a), self.reify_lin(&b)), ty)
            }
        })
    }

    pub fn lin_proj(&mut self, lv: LV, i: usize) -> Result<LV, Error> {
        Ok(match lv {
            LV::Tuple(vs) => vs[i].clone(),
            LV::Zero(LType::Tuple(ts)) => LV::Zero(ts[i].clone()),
            LV::Env(ty, mut slots) => {
                let LType::Tuple(ts) = &ty else { unreachable!("compiler bug: an environment is a pair") };
                let top = ty.depth() - 1;
                let slot = slots.remove(top);
                match i {
                    0 if slots.is_empty() => LV::Zero(ts[0].clone()),
                    0 => LV::Env(ts[0].clone(), slots),
                    _ => slot.unwrap_or_else(|| LV::Zero(ts[1].clone())),
                }
            }
            LV::Marked(m, LType::Tuple(ts), rest) => {
                // A component of it is no longer the whole: the loop will carry it.
                self.used_marks.borrow_mut().insert(m);
                LV::Marked(m, ts[i].clone(), Rc::new(self.lin_proj((*rest).clone(), i)?))
            }
            LV::Term(t, LType::Tuple(ts)) => {
                let lv = self.share(LV::Term(t, LType::Tuple(ts.clone())), "z");
                LV::Term(make::proj(self.reify_lin(&lv), i), ts[i].clone())
            }
            LV::Zero(_) | LV::Term(..) | LV::Rep(..) | LV::OneHot(..) | LV::Marked(..) => {
                unreachable!("compiler bug: projection of a linear value that is no tuple")
            }
        })
    }

    pub fn reify_lin(&mut self, lv: &LV) -> Lin {
        match lv {
            LV::Zero(ty) => make::zero(ty.clone()),
            LV::Term(t, _) => t.clone(),
            LV::Tuple(vs) => make::tuple(vs.iter().map(|v| self.reify_lin(v)).collect::<Vec<_>>()),
            LV::Env(ty, slots) => {
                let depth = ty.depth();
                let terms = slots
                    .iter()
                    .filter(|(_, v)| !v.is_zero())
                    .map(|(k, v)| make::coproj(ty.clone(), depth - 1 - k, self.reify_lin(v)));
                terms.reduce(make::plus).unwrap_or_else(|| make::zero(ty.clone()))
            }
            LV::Rep(n, v) => {
                let i = self.fresh("i");
                make::build(i, n.clone(), self.reify_lin(v))
            }
            LV::OneHot(n, i, v) => make::onehot(n.clone(), i.clone(), self.reify_lin(v)),
            LV::Marked(m, ty, _) => {
                self.used_marks.borrow_mut().insert(*m);
                make::zero(ty.clone())
            }
        }
    }

    /// Leaves that are more than a path are bound, so that using a value twice does not compute it twice.
    pub fn share(&mut self, lv: LV, name: &str) -> LV {
        match lv {
            LV::Tuple(vs) => LV::tuple(vs.iter().map(|v| self.share(v.clone(), name)).collect::<Vec<_>>()),
            LV::Env(ty, mut slots) => {
                slots.share(|v| self.share(v, name));
                LV::Env(ty, slots)
            }
            LV::Rep(n, v) => LV::Rep(n, Rc::new(self.share((*v).clone(), name))),
            LV::OneHot(n, i, v) => LV::OneHot(n, i, Rc::new(self.share((*v).clone(), name))),
            LV::Term(t, ty) if !is_path(&t) => {
                let z = self.linear_var(name, &ty);
                self.push(Item::Lin(LBinder::new(z.clone(), ty.clone()), t));
                LV::Term(make::var(&z), ty)
            }
            LV::Marked(m, ty, r) => LV::Marked(m, ty, Rc::new(self.share((*r).clone(), name))),
            other => other,
        }
    }

    /// Pairs up the leaves of two values of one type; a leaf absent on one side is 0̲ there. The result is the common
    /// shape, its leaves numbered by position in `leaves`.
    pub(super) fn unify(&mut self, a: &LV, b: &LV, leaves: &mut Vec<(LV, LV)>) -> Shape {
        match (a, b) {
            (a, b) if a.is_zero() && b.is_zero() => Shape::Zero(a.ty()),
            (LV::Env(ty, x), _) | (_, LV::Env(ty, x)) => {
                let y = match (a, b) {
                    (LV::Env(..), LV::Env(_, y)) => y.clone(),
                    (LV::Env(..), LV::Zero(_)) | (LV::Zero(_), LV::Env(..)) => Slots::default(),
                    _ => return self.unify_tuple(a, b, leaves),
                };
                let first = matches!(a, LV::Env(..));
                let mut slots = vec![];
                let zero = |other: &LV| LV::Zero(other.ty());
                let here =
                    x.iter().map(|(k, u)| (k, u.clone(), y.get(k).cloned().unwrap_or_else(|| zero(u))));
                let others = y.iter().filter(|(k, _)| x.get(*k).is_none());
                for (k, u, v) in here.chain(others.map(|(k, v)| (k, zero(v), v.clone()))) {
                    let (u, v) = if first { (u, v) } else { (v, u) };
                    slots.push((k, self.unify(&u, &v, leaves)));
                }
                Shape::Env(ty.clone(), slots)
            }
            (LV::Tuple(_), _) | (_, LV::Tuple(_)) => self.unify_tuple(a, b, leaves),
            (LV::Rep(n, u), LV::Rep(_, v)) => {
                let (u, v) = ((**u).clone(), (**v).clone());
                Shape::Rep(n.clone(), Box::new(self.unify(&u, &v, leaves)))
            }
            _ => {
                leaves.push((a.clone(), b.clone()));
                Shape::Leaf(leaves.len() - 1)
            }
        }
    }

    pub(super) fn unify_tuple(&mut self, a: &LV, b: &LV, leaves: &mut Vec<(LV, LV)>) -> Shape {
        let LType::Tuple(ts) = a.ty() else { unreachable!("compiler bug: a tuple has a tuple's type") };
        let parts = (0..ts.len()).map(|k| {
            let pa = self.lin_proj(a.clone(), k).expect("projection of a tuple");
            let pb = self.lin_proj(b.clone(), k).expect("projection of a tuple");
            self.unify(&pa, &pb, leaves)
        });
        Shape::Tuple(parts.collect())
    }

    /// Binds a term with several results and puts them into the shape.
    pub(super) fn bind_leaves(&mut self, t: Lin, types: Vec<LType>, shape: &Shape) -> LV {
        let shared = self.share(LV::Term(t, one_or_tuple_type(&types)), "z");
        let term = self.reify_lin(&shared);
        let leaves: Vec<LV> = match types.len() {
            1 => vec![LV::Term(term, types[0].clone())],
            _ => (types.iter().enumerate())
                .map(|(k, t)| LV::Term(make::proj(term.clone(), k), t.clone()))
                .collect(),
        };
        fill(shape, &leaves)
    }
}

/// The form of a linear value, its leaves numbered.
#[derive(Clone)]
pub enum Shape {
    Zero(LType),
    Leaf(usize),
    Tuple(Vec<Shape>),
    Env(LType, Vec<(usize, Shape)>),
    Rep(Size, Box<Shape>),
}

pub fn fill(shape: &Shape, leaves: &[LV]) -> LV {
    match shape {
        Shape::Zero(ty) => LV::Zero(ty.clone()),
        Shape::Leaf(k) => leaves[*k].clone(),
        Shape::Tuple(ss) => LV::tuple(ss.iter().map(|s| fill(s, leaves)).collect::<Vec<_>>()),
        Shape::Env(ty, slots) => {
            LV::Env(ty.clone(), slots.iter().map(|(k, s)| (*k, fill(s, leaves))).collect())
        }
        Shape::Rep(n, s) => LV::Rep(n.clone(), Rc::new(fill(s, leaves))),
    }
}
