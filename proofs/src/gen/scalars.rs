//! Random scalars: primitives with their arguments in the domain that their row samples.

use super::*;
use lang::core::Lit;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Rows by the type of their result.
fn rows(result: Scalar) -> impl Iterator<Item = Prim> {
    Prim::ALL.iter().copied().filter(move |p| scalar_result(*p) == result)
}

/// The magnitude of a primitive's values on the domain it is sampled on: the greatest on a grid, and some more.
fn magnitude(p: Prim) -> f64 {
    static TABLE: OnceLock<HashMap<Prim, f64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| rows(Scalar::Real).map(|p| (p, on_grid(p))).collect());
    table[&p]
}

fn on_grid(p: Prim) -> f64 {
    const STEPS: i64 = 8;
    let row = p.row();
    let mut points: Vec<Vec<Lit>> = vec![vec![]];
    for (ty, (lo, hi)) in row.args.iter().zip(row.samples) {
        let at = |k: i64| lo + (hi - lo) * k as f64 / STEPS as f64;
        let lits = (0..=STEPS).map(|k| match ty {
            Scalar::Real => Lit::Real(at(k)),
            Scalar::Int => Lit::Int(at(k).round() as i64),
            Scalar::Bool => Lit::Bool(k % 2 == 0),
        });
        let lits: Vec<Lit> = lits.collect();
        points = points.iter().flat_map(|p| lits.iter().map(|l| [&p[..], &[*l]].concat())).collect();
    }
    let values = points.iter().map(|x| match (row.eval)(x) {
        Lit::Real(y) => y.abs(),
        Lit::Int(_) | Lit::Bool(_) => 0.0,
    });
    1.5 * values.fold(0.0, f64::max)
}

impl Gen<'_> {
    /// A smooth function to [−1, 1] of a real of any magnitude.
    fn unit(&mut self, t: Tm) -> Tm {
        match self.rng.below(4) {
            0 => prim(Prim::Tanh, [t]),
            1 => prim(Prim::Sin, [t]),
            2 => prim(Prim::Mul, [real(0.63), prim(Prim::Atan, [t])]),
            _ => {
                let x = self.supply.fresh("u");
                let square = prim(Prim::Mul, [var(&x), var(&x)]);
                let root = prim(Prim::Sqrt, [prim(Prim::Add, [real(1.0), square])]);
                let body = prim(Prim::Div, [var(&x), root]);
                let_(Binder::new(x, Type::Real), t, body)
            }
        }
    }

    pub(super) fn squash(&mut self, t: Tm) -> Made {
        let scale = self.rng.real(0.8, SMALL);
        (prim(Prim::Mul, [real(scale), self.unit(t)]), scale)
    }

    /// t moved into lo..hi if it may lie outside.
    fn into(&mut self, (t, mag): Made, (lo, hi): (f64, f64)) -> Tm {
        if lo <= -mag && mag <= hi {
            return t;
        }
        let (middle, half) = ((lo + hi) / 2.0, (hi - lo) * 0.49);
        let moved = prim(Prim::Mul, [real(half), self.unit(t)]);
        prim(Prim::Add, [real(middle), moved])
    }

    /// An operation with a real result.
    pub(super) fn real(&mut self, fuel: usize) -> Made {
        let yes = |b: bool, w: usize| if b { w } else { 0 };
        let any = self.any();
        match self.rng.weighted(&[
            (8, 0),
            (3, 1),
            (yes(any, 2), 2),
            (yes(any, 6), 3),
            (1, 4),
            (yes(any, 3), 5),
        ]) {
            0 => self.ring(fuel),
            1 => self.summed(fuel),
            2 => self.extremum(fuel),
            3 => self.applied(fuel),
            4 => (prim(Prim::IntToReal, [self.small_int(fuel)]), 5.0),
            _ => self.selected(fuel),
        }
    }

    /// + − * and negation.
    fn ring(&mut self, fuel: usize) -> Made {
        let (s, a) = self.term(&Type::Real, fuel / 2, false);
        match self.rng.below(8) {
            0 => (prim(Prim::Neg, [s]), a),
            k => {
                let (t, b) = self.term(&Type::Real, fuel / 2, false);
                match k {
                    1 | 2 => (prim(Prim::Add, [s, t]), a + b),
                    3 | 4 => (prim(Prim::Sub, [s, t]), a + b),
                    _ if a * b <= 100.0 || !self.any() => (prim(Prim::Mul, [s, t]), a * b),
                    _ => {
                        let (s, t) = (self.squash(s), self.squash(t));
                        (prim(Prim::Mul, [s.0, t.0]), s.1 * t.1)
                    }
                }
            }
        }
    }

    /// Any row with a real result.
    fn applied(&mut self, fuel: usize) -> Made {
        let all: Vec<Prim> = rows(Scalar::Real).filter(|p| *p != Prim::IntToReal).collect();
        let p = *self.rng.pick(&all);
        let row = p.row();
        let share = fuel / row.args.len();
        let args: Vec<Tm> = (row.args.iter().zip(row.samples))
            .map(|(ty, domain)| match ty {
                Scalar::Real => {
                    let t = self.term(&Type::Real, share, false);
                    self.into(t, *domain)
                }
                Scalar::Int => self.int_in(*domain, share),
                Scalar::Bool => self.bool(share),
            })
            .collect();
        (prim(p, args), magnitude(p))
    }

    /// Selections, on both sides of their kinks.
    fn selected(&mut self, fuel: usize) -> Made {
        let (s, a) = self.term(&Type::Real, fuel / 2, false);
        let shift = self.rng.real(-1.0, 1.0);
        let (s, a) = (prim(Prim::Add, [s, real(shift)]), a + 1.0);
        match self.rng.below(5) {
            0 => (prim(Prim::Abs, [s]), a),
            1 => (prim(Prim::Relu, [s]), a),
            2 => {
                let step = *self.rng.pick(&[Prim::Floor, Prim::Ceil, Prim::Round, Prim::Trunc, Prim::Sign]);
                (prim(step, [s]), a + 1.0)
            }
            k => {
                let (t, b) = self.term(&Type::Real, fuel / 2, false);
                (prim(if k == 3 { Prim::Min } else { Prim::Max }, [s, t]), a.max(b))
            }
        }
    }

    pub(super) fn bool(&mut self, fuel: usize) -> Tm {
        if self.rng.chance(1, 3) || !self.any() {
            return self.compare_ints(fuel);
        }
        match self.rng.below(4) {
            0 | 1 => {
                let order = *self.rng.pick(&[Prim::Lt, Prim::Le, Prim::Lt, Prim::Le, Prim::Eq, Prim::Ne]);
                let s = self.term(&Type::Real, fuel / 2, false).0;
                // A constant no term is equal to.
                let c = real(self.rng.real(-1.0, 1.0));
                if self.rng.chance(1, 2) { prim(order, [s, c]) } else { prim(order, [c, s]) }
            }
            2 => {
                let all: Vec<Prim> =
                    rows(Scalar::Bool).filter(|p| !p.row().args.contains(&Scalar::Real)).collect();
                let p = *self.rng.pick(&all);
                let args: Vec<Tm> = p.row().args.iter().map(|ty| self.discrete(*ty, fuel / 2)).collect();
                prim(p, args)
            }
            _ => self.term(&Type::Bool, fuel.saturating_sub(1), false).0,
        }
    }

    fn discrete(&mut self, ty: Scalar, fuel: usize) -> Tm {
        match ty {
            Scalar::Int => self.int(fuel),
            Scalar::Bool => {
                if fuel == 0 {
                    self.compare_ints(0)
                } else {
                    self.bool(fuel - 1)
                }
            }
            Scalar::Real => unreachable!("no row with real arguments is asked for"),
        }
    }

    pub(super) fn compare_ints(&mut self, fuel: usize) -> Tm {
        let order = *self.rng.pick(&[Prim::ILt, Prim::ILe, Prim::IEq, Prim::INe]);
        prim(order, [self.small_int(fuel / 2), int(self.rng.int(0, 3))])
    }

    /// An int variable, or an operation on them.
    pub(super) fn int(&mut self, fuel: usize) -> Tm {
        if fuel == 0 {
            return self.leaf(&Type::Int, false).0;
        }
        match self.rng.below(6) {
            0 | 1 => self.leaf(&Type::Int, false).0,
            2 if self.any() => {
                let to_int = [Prim::FloorInt, Prim::CeilInt, Prim::RoundInt, Prim::TruncInt];
                let t = self.term(&Type::Real, fuel - 1, true).0;
                let shift = real(self.rng.real(-1.0, 1.0));
                prim(*self.rng.pick(&to_int), [prim(Prim::Add, [t, shift])])
            }
            3 => self.term(&Type::Int, fuel - 1, false).0,
            _ => {
                let all: Vec<Prim> =
                    rows(Scalar::Int).filter(|p| !p.row().args.contains(&Scalar::Real)).collect();
                let p = *self.rng.pick(&all);
                let share = (fuel - 1) / p.row().args.len();
                let args: Vec<Tm> = p.row().args.iter().map(|ty| self.discrete(*ty, share)).collect();
                prim(p, args)
            }
        }
    }

    /// An int from 0 to 4.
    pub(super) fn small_int(&mut self, fuel: usize) -> Tm {
        prim(Prim::IMod, [self.int(fuel), int(5)])
    }

    /// An int in an interval.
    fn int_in(&mut self, (lo, hi): (f64, f64), fuel: usize) -> Tm {
        let (lo, hi) = (lo.ceil() as i64, hi.floor() as i64);
        prim(Prim::IAdd, [int(lo), prim(Prim::IMod, [self.int(fuel), int(hi - lo + 1)])])
    }
}
