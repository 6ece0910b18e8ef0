//! A second definition, and calls of it: by every program that has one, and in every other one by itself, with an argument that comes closer to the end.

use super::*;

/// A definition that may be called: one size, parameters as in [`Gen::helper`], result real.
#[derive(Clone)]
pub(super) struct Callee {
    pub name: Name,
    pub depth: Depth,
}

/// Its int argument.
#[derive(Clone)]
pub(super) enum Depth {
    /// It does not call itself.
    Any,
    /// It calls itself so often: few times.
    Few,
    /// The call is its own: one less than its parameter. So many more calls may be written.
    Less(Var, usize),
}

impl Gen<'_> {
    /// def g [n] (x : real) (a : real^n) (k : int) : real, for magnitudes up to SMALL. A recursive one is `if k <= 0 then … else …`,
    /// where the second arm calls g, at any size, with k - 1.
    pub(super) fn helper(mut self, fuel: usize, recursive: bool) -> Def {
        let name = Name::from("g");
        let n = self.size_param("n", None);
        let params = vec![
            self.param("x", Type::Real, SMALL),
            self.param("a", Type::array(n.clone(), Type::Real), SMALL),
            self.param("k", Type::Int, 0.0),
        ];
        let k = params[2].var.clone();
        let body = match recursive {
            false => self.term(&Type::Real, fuel, true).0,
            true => {
                let (end, _) = self.term(&Type::Real, fuel / 4, true);
                let calls = 1 + self.rng.below(2);
                self.callee = Some(Callee { name: name.clone(), depth: Depth::Less(k.clone(), calls) });
                // Something of it stands beside the call, so that there is more to keep than what the call gives.
                let (call, _) = self.call(fuel / 3);
                let (more, _) = self.term(&Type::Real, fuel / 2, true);
                let (next, mag) = self.around(call, more);
                let next = if mag > SMALL && self.any() { self.squash(next).0 } else { next };
                if_(prim(Prim::ILe, [var(&k), int(0)]), end, next)
            }
        };
        let (supply, sizes) = (self.supply, vec![n]);
        Def { name, types: vec![], sizes, params, result: Type::Real, body, supply }
    }

    /// Two reals up to SMALL, together.
    fn around(&mut self, s: Tm, t: Tm) -> Made {
        match self.rng.below(3) {
            0 => (prim(Prim::Add, [s, t]), 2.0 * SMALL),
            1 => (prim(Prim::Sub, [t, s]), 2.0 * SMALL),
            _ => (prim(Prim::Mul, [s, t]), SMALL * SMALL),
        }
    }

    pub(super) fn call(&mut self, fuel: usize) -> Made {
        let Callee { name, depth } = self.callee.clone().expect("there is a definition where one is called");
        let k = match depth {
            Depth::Any => self.int(fuel / 6),
            Depth::Few => self.small_int(fuel / 6),
            Depth::Less(k, calls) => {
                // The arguments may hold calls too.
                let rest = Callee { name: name.clone(), depth: Depth::Less(k.clone(), calls - 1) };
                self.callee = Some(rest).filter(|_| calls > 1);
                prim(Prim::ISub, [var(&k), int(1)])
            }
        };
        let n = self.size().0;
        let args = vec![
            self.term(&Type::Real, fuel / 3, true).0,
            self.term(&Type::array(n.clone(), Type::Real), fuel / 3, true).0,
            k,
        ];
        (Arc::new(Term::Call { def: name, types: vec![], sizes: vec![n], args }), SMALL)
    }
}
