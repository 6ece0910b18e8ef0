//! Linear code that contributes to nothing asked for goes away: a backward sweep with the demand on every component.
//! (A cotangent of something inactive is such code: its map is λ̲w. 0̲, so nobody asks for it.)

use lang::name::Var;
use lang::target::{Lin, LinTerm, make};
use lang::types::LType;
use std::collections::HashMap;
use std::sync::Arc;

/// What is asked of a linear value.
#[derive(Clone, Debug, PartialEq)]
enum Demand {
    Nothing,
    All,
    Parts(Vec<Demand>),
}

/// The part of a linear term of this type that its whole result needs.
pub fn live(t: &Lin, ty: &LType) -> Lin {
    Live { demands: HashMap::new() }.term(t, ty, &Demand::All)
}

struct Live {
    demands: HashMap<Var, Demand>,
}

impl Demand {
    fn part(&self, i: usize) -> Demand {
        match self {
            Demand::Nothing => Demand::Nothing,
            Demand::All => Demand::All,
            Demand::Parts(ds) => ds.get(i).cloned().unwrap_or(Demand::Nothing),
        }
    }

    fn is_nothing(&self) -> bool {
        match self {
            Demand::Nothing => true,
            Demand::All => false,
            Demand::Parts(ds) => ds.iter().all(Demand::is_nothing),
        }
    }

    fn union(&self, other: &Demand) -> Demand {
        match (self, other) {
            (Demand::Nothing, d) | (d, Demand::Nothing) => d.clone(),
            (Demand::All, _) | (_, Demand::All) => Demand::All,
            (Demand::Parts(a), Demand::Parts(b)) => {
                let at = |ds: &[Demand], k: usize| ds.get(k).cloned().unwrap_or(Demand::Nothing);
                Demand::Parts((0..a.len().max(b.len())).map(|k| at(a, k).union(&at(b, k))).collect())
            }
        }
    }

    /// What is asked of every element when this is asked of an array.
    fn element(&self) -> Demand {
        if self.is_nothing() { Demand::Nothing } else { Demand::All }
    }
}

fn parts(ty: &LType) -> Option<&[LType]> {
    match ty {
        LType::Tuple(ts) => Some(ts),
        _ => None,
    }
}

fn element_type(ty: &LType) -> LType {
    match ty {
        LType::Array(_, t) => (**t).clone(),
        other => unreachable!("compiler bug: elements of {other:?}"),
    }
}

impl Live {
    /// Asks for a path from a variable.
    fn ask(&mut self, t: &Lin, demand: Demand) {
        match &**t {
            LinTerm::Var(z) => {
                let old = self.demands.remove(z).unwrap_or(Demand::Nothing);
                self.demands.insert(z.clone(), old.union(&demand));
            }
            // How many components there are is not known here: the binder's type says (see `widen`).
            LinTerm::Proj(s, i) => {
                let mut ds = vec![Demand::Nothing; i + 1];
                ds[*i] = demand;
                self.ask(s, Demand::Parts(ds));
            }
            _ => unreachable!("compiler bug: not a path"),
        }
    }

    fn demand_of(&mut self, z: &Var, ty: &LType) -> Demand {
        let d = self.demands.remove(z).unwrap_or(Demand::Nothing);
        widen(d, ty)
    }

    fn term(&mut self, t: &Lin, ty: &LType, demand: &Demand) -> Lin {
        if demand.is_nothing() {
            return make::zero(ty.clone());
        }
        match &**t {
            LinTerm::Zero(_) => t.clone(),
            LinTerm::Var(_) => {
                self.ask(t, demand.clone());
                t.clone()
            }
            LinTerm::Proj(s, i) => {
                if is_projection_path(t) {
                    self.ask(t, demand.clone());
                    return t.clone();
                }
                Arc::new(LinTerm::Proj(self.whole(s), *i))
            }
            LinTerm::Plus(a, b) => make::plus(self.term(a, ty, demand), self.term(b, ty, demand)),
            LinTerm::Tuple(ts) => match parts(ty) {
                Some(tys) => make::tuple(
                    (ts.iter().zip(tys).enumerate())
                        .map(|(k, (t, ty))| self.term(t, ty, &demand.part(k)))
                        .collect::<Vec<_>>(),
                ),
                None => self.whole(t),
            },
            LinTerm::Let(z, s, b) => {
                let b = self.term(b, ty, demand);
                let d = self.demand_of(&z.var, &z.ty);
                if d.is_nothing() {
                    return b;
                }
                let s = self.term(s, &z.ty, &d);
                make::let_(z.clone(), s, b)
            }
            LinTerm::CLet(x, a, b) => make::clet(x.clone(), a.clone(), self.term(b, ty, demand)),
            LinTerm::If(c, a, b) => make::if_(c.clone(), self.term(a, ty, demand), self.term(b, ty, demand)),
            LinTerm::Scale(a, s) => make::scale(a.clone(), self.term(s, &LType::Real, demand)),
            LinTerm::Build { index, bound, body } => {
                let body = self.term(body, &element_type(ty), &demand.element());
                make::build(index.clone(), bound.clone(), body)
            }
            LinTerm::OneHot { bound, index, term } => {
                let term = self.term(term, &element_type(ty), &demand.element());
                make::onehot(bound.clone(), index.clone(), term)
            }
            LinTerm::Sum { index, bound, body } => {
                let body = self.term(body, ty, demand);
                make::sum(index.clone(), bound.clone(), body)
            }
            LinTerm::Index(s, i) => make::index(self.whole(s), i.clone()),
            LinTerm::Loop { direction, state, init, index, bound, body } => {
                let Some([state_ty, outs_ty]) = parts(ty) else {
                    unreachable!("compiler bug: a loop's value is a pair")
                };
                let out_ty = element_type(outs_ty);
                let out = demand.part(1).element();
                let body_ty = LType::pair(state_ty.clone(), out_ty);
                // What a step asks of the state it starts from is asked of the state before: to a fixed point.
                let mut asked = widen(demand.part(0), state_ty);
                let body = loop {
                    let before = self.demands.clone();
                    let step = self.term(body, &body_ty, &Demand::Parts(vec![asked.clone(), out.clone()]));
                    let inside = self.demand_of(&state.var, state_ty).union(&asked);
                    if inside == asked {
                        break step;
                    }
                    self.demands = before;
                    asked = inside;
                };
                let init = self.term(init, state_ty, &asked);
                Arc::new(LinTerm::Loop {
                    direction: *direction,
                    state: state.clone(),
                    init,
                    index: index.clone(),
                    bound: bound.clone(),
                    body,
                })
            }
            LinTerm::Coproj { .. }
            | LinTerm::EnvProj { .. }
            | LinTerm::Power(..)
            | LinTerm::PowerApp(..)
            | LinTerm::Tensor(..)
            | LinTerm::TensorElim { .. }
            | LinTerm::App(..)
            | LinTerm::Case(..)
            | LinTerm::Inject(..)
            | LinTerm::SumElim(..)
            | LinTerm::FromInject(..) => self.whole(t),
        }
    }

    /// Everything in a term is asked for.
    fn whole(&mut self, t: &Lin) -> Lin {
        struct AskAll<'a>(&'a mut Live);
        impl lang::walk::Mapper for AskAll<'_> {
            fn lin(&mut self, t: &Lin) -> Lin {
                if is_projection_path(t) {
                    self.0.ask(t, Demand::All);
                    return t.clone();
                }
                lang::walk::map_lin(self, t)
            }
        }
        lang::walk::Mapper::lin(&mut AskAll(self), t)
    }
}

/// A variable, or projections of one.
fn is_projection_path(t: &Lin) -> bool {
    match &**t {
        LinTerm::Var(_) => true,
        LinTerm::Proj(t, _) => is_projection_path(t),
        _ => false,
    }
}

/// A demand with as many components as its type.
fn widen(d: Demand, ty: &LType) -> Demand {
    match (d, parts(ty)) {
        (Demand::Parts(mut ds), Some(tys)) => {
            ds.resize(tys.len(), Demand::Nothing);
            Demand::Parts(ds.into_iter().zip(tys).map(|(d, t)| widen(d, t)).collect())
        }
        (Demand::Parts(_), None) => Demand::All,
        (d @ (Demand::Nothing | Demand::All), _) => d,
    }
}
