//! The goal shapes of the design notes, reached from procedures as emission gives them; and random procedures through every pass.

mod arms;
mod neighbours;
mod pictures;
mod places;
mod products;
mod random;
mod ranges;
mod triangles;

use super::*;
use lang::loops::eval::{self, Arg, Array, Data};
use lang::loops::*;

/// Runs the pipeline with the checker on; the outcome before and after, and the text after.
fn optimised(p: &Proc, options: Options, args: &[Arg]) -> (eval::Outcome, eval::Outcome, Proc) {
    verify::verify(p).unwrap_or_else(|m| panic!("{m}\n{}", text::print(p)));
    let mut q = p.clone();
    optimise(&mut q, &Options { verify: true, ..options })
        .unwrap_or_else(|m| panic!("{m}\n{}", text::print(p)));
    let run = |p: &Proc| eval::run(p, args).unwrap_or_else(|m| panic!("{m:?}\n{}", text::print(p)));
    (run(p), run(&q), q)
}

/// Equal up to rounding (`tolerance` 0: bit for bit), a NaN being equal to a NaN.
fn agree(a: &[Array], b: &[Array], tolerance: f64) -> bool {
    let close = |x: f64, y: f64| {
        x.to_bits() == y.to_bits()
            || x.is_nan() && y.is_nan()
            || tolerance > 0.0 && (x == y || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs())))
    };
    let same = |a: &Array, b: &Array| match (&a.data, &b.data) {
        (Data::Real(x), Data::Real(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| close(*x, *y)),
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// (1 + 2^-24) − 1: the sum is rounded before the difference is, in the precision of the procedure. In doubles 2^-24 is left, of singles nothing.
#[test]
fn constants_are_computed_in_the_precision_of_the_procedure() {
    use lang::precision::Precision;
    for (precision, left) in [(Precision::Double, 2f64.powi(-24)), (Precision::Single, 0.0)] {
        let mut p = Proc { precision, ..Proc::new("f") };
        let info =
            BufInfo { name: "out".into(), elem: lang::prim::Scalar::Real, shape: vec![], kind: BufKind::Out };
        let out = p.buf(info);
        p.params.push(Param::Array(out));
        let [sum, difference] = [(); 2].map(|()| p.val(lang::prim::Scalar::Real, "t"));
        let args = vec![Operand::Real(1.0), Operand::Real(2f64.powi(-24))];
        p.body.push(Stmt::Let { dst: sum, op: Op::FAdd, args });
        let args = vec![Operand::Val(sum), Operand::Real(1.0)];
        p.body.push(Stmt::Let { dst: difference, op: Op::FSub, args });
        p.body.push(Stmt::Store { buf: out, index: vec![], value: Operand::Val(difference) });
        let (before, after, q) = optimised(&p, Options { strict: true, ..Options::default() }, &[]);
        assert_eq!(before.outs, [Array::reals([], [left])]);
        assert_eq!(after.outs, before.outs);
        assert_eq!(q.body, [Stmt::Store { buf: out, index: vec![], value: Operand::Real(left) }]);
    }
}

#[test]
fn pipelines_are_checked() {
    assert!(Pipeline::new(PIPELINE).is_ok());
    assert!(Pipeline::new(&["fold", "fuse"]).is_err_and(|m| m.contains("fuse requires Numbered")));
    assert!(Pipeline::new(&["fold", "vectorise"]).is_err_and(|m| m.contains("no pass is called vectorise")));
    for pass in TABLE {
        assert!(PIPELINE.contains(&pass.name), "{} is in no pipeline", pass.name);
    }
}
