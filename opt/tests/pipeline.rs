//! Core to loops on the logistic loss: the normal form, the loops, and their values.

mod common;

use common::derive;
use lang::core::{Binder, Def, Program, Term, Tm, make::*};
use lang::diag::Site;
use lang::name::{Supply, Var};
use lang::precision::Precision;
use lang::prim::Prim;
use lang::size::Size;
use lang::types::{Mode, Type};
use opt::Normal;
use std::sync::Arc;

fn site() -> Site {
    Site { def: "test".into(), span: Default::default() }
}

struct B(Supply);

impl B {
    fn v(&mut self, name: &str) -> Var {
        self.0.fresh(name)
    }
}

fn idx(a: &Tm, i: &Tm) -> Tm {
    index(a.clone(), i.clone(), site())
}

/// grad of the logistic loss in w.
fn grad_loss() -> Def {
    let mut b = B(Supply::default());
    let (n, d, w, xs, ys, u, i, j, m) =
        (b.v("n"), b.v("d"), b.v("w"), b.v("xs"), b.v("ys"), b.v("u"), b.v("i"), b.v("j"), b.v("m"));
    let vec = |k: &Var| Type::array(Size::var(k.clone()), Type::Real);
    let term = prim(Prim::Mul, [idx(&var(&u), &var(&j)), idx(&idx(&var(&xs), &var(&i)), &var(&j))]);
    let dot = sum(j, Size::var(d.clone()), term);
    let z = prim(Prim::Neg, [prim(Prim::Mul, [idx(&var(&ys), &var(&i)), var(&m)])]);
    let body = let_(
        Binder::new(m, Type::Real),
        dot,
        prim(Prim::find("softplus", &[lang::prim::Scalar::Real]).unwrap(), [z]),
    );
    let s = sum(i, Size::var(n.clone()), body);
    let loss = prim(Prim::Div, [s, prim(Prim::find("real", &[lang::prim::Scalar::Int]).unwrap(), [var(&n)])]);
    let f = lam(Binder::new(u, vec(&d)), loss);
    let diff = Arc::new(Term::Diff { mode: Mode::Reverse, f, x: var(&w), site: site() });
    let body = lin_app(proj(diff, 1), real(1.0));
    Def {
        name: "grad_loss".into(),
        types: vec![],
        sizes: vec![n.clone(), d.clone()],
        params: vec![
            Binder::new(w, vec(&d)),
            Binder::new(xs, Type::array(Size::var(n.clone()), vec(&d))),
            Binder::new(ys, vec(&n)),
        ],
        result: vec(&d),
        body,
        supply: b.0,
    }
}

#[test]
fn logistic_gradient() {
    let def = grad_loss();
    let program = Program::default();
    let normal = opt::normal_form(&def, &program, &derive, Precision::Double).unwrap();
    gradient_of(&normal);
    gradient_of(&opt::simplify(&normal, &Default::default()));
}

/// Emits the gradient, and compares it with the formula.
fn gradient_of(normal: &Normal) {
    let proc = opt::emit(normal).unwrap();
    lang::loops::verify::verify(&proc).unwrap();
    // No array but the result: the residual m is recomputed in the iteration that uses it.
    assert_eq!(proc.bufs.len(), 4, "{}", lang::loops::text::print(&proc));
    let (n, d) = (5, 3);
    let w = vec![0.3, -0.2, 0.7];
    let xs: Vec<f64> = (0..n * d).map(|k| (k as f64 * 0.37).sin()).collect();
    let ys = vec![1.0, -1.0, 1.0, 1.0, -1.0];
    let mut expected = vec![0.0; d];
    for i in 0..n {
        let m: f64 = (0..d).map(|j| w[j] * xs[i * d + j]).sum();
        let s = 1.0 / (1.0 + (ys[i] * m).exp());
        for j in 0..d {
            expected[j] -= ys[i] * s * xs[i * d + j] / n as f64;
        }
    }
    use lang::core::Lit;
    use lang::loops::eval::{Arg, Array, Data};
    let args = [
        Arg::Scalar(Lit::Int(n as i64)),
        Arg::Scalar(Lit::Int(d as i64)),
        Arg::Array(Array::reals([d], w)),
        Arg::Array(Array::reals([n, d], xs)),
        Arg::Array(Array::reals([n], ys)),
    ];
    let out = lang::loops::eval::run(&proc, &args).unwrap();
    let Data::Real(got) = &out.outs[0].data else { panic!("the gradient is real") };
    for (g, e) in got.iter().zip(&expected) {
        assert!((g - e).abs() <= 1e-14 * e.abs().max(1.0), "{got:?} {expected:?}");
    }
}
