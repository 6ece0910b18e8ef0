//! Every former of Core, differentiated both ways, against central differences; and every rule is used by one of them.

mod common;
use common::*;
use lang::core::make::{app, bool, if_, int, lin_app, lin_lam, prim, proj, real, tuple, update};
use lang::core::{Extremum, Program, Term, Tm};
use lang::diag::Failure;
use lang::eval::Value;
use lang::prim::{Prim, Scalar};
use lang::size::Size;
use lang::target::{LBinder, make as lin};
use lang::types::{LType, Mode, Type};
use std::sync::Arc;

#[test]
fn variables_and_literals() {
    let j = check(&program(vec![REAL], vec![r(1.5)], REAL, |_, x| x[0].clone()));
    assert_eq!(j.forward, [[1.0]]);
    let j = check(&program(vec![REAL], vec![r(1.5)], REAL, |_, _| real(4.0)));
    assert_eq!(j.reverse, [[0.0]]);
    // The slots of an environment do not get mixed up, nor those of ints.
    check(&program(vec![REAL, Type::Int, REAL], vec![r(2.0), Value::Int(3), r(5.0)], REAL, |_, x| {
        mul(x[0].clone(), add(x[2].clone(), prim(Prim::IntToReal, [x[1].clone()])))
    }));
}

#[test]
fn lets_and_pairs() {
    check(&program(vec![REAL, REAL], vec![r(0.7), r(-1.2)], REAL, |s, x| {
        lett(s, REAL, mul(x[0].clone(), x[1].clone()), |s, y| {
            lett(s, REAL, sin(add(y.clone(), x[0].clone())), |_, z| mul(add(z.clone(), y), z))
        })
    }));
    let pair = Type::tuple([REAL, REAL]);
    check(&program(vec![pair.clone()], vec![Value::tuple([r(0.3), r(2.0)])], pair, |_, x| {
        tuple([mul(proj(x[0].clone(), 0), proj(x[0].clone(), 1)), proj(x[0].clone(), 0)])
    }));
    check(&program(vec![REAL], vec![r(0.3)], Type::unit(), |_, _| tuple([])));
}

#[test]
fn sums() {
    let either = Type::Sum(Arc::from([REAL, Type::tuple([REAL, REAL])]));
    for positive in [true, false] {
        let x = if positive { 1.2 } else { -0.8 };
        // x ↦ case (if 0 < x then in0 (x*x) else in1 (x, sin x)) of in0 y → y*x | in1 p → p.0 * p.1
        let either = either.clone();
        check(&program(vec![REAL], vec![r(x)], REAL, |s, x| {
            let x = x[0].clone();
            let yes = inject(0, &either, mul(x.clone(), x.clone()));
            let no = inject(1, &either, tuple([x.clone(), sin(x.clone())]));
            let pick = if_(less(real(0.0), x.clone()), yes, no);
            let second = |p: &_, i| proj(Arc::clone(p), i);
            case(
                s,
                pick,
                vec![
                    (REAL, Box::new(move |_, y| mul(y, x.clone()))),
                    (Type::tuple([REAL, REAL]), Box::new(move |_, p| mul(second(&p, 0), second(&p, 1)))),
                ],
            )
        }));
        // A sum in and out: in_i x ↦ in_i (sin x)
        let (ty, out) = (Type::Sum(Arc::from([REAL, REAL])), Type::Sum(Arc::from([REAL, REAL])));
        let arg = Value::inject(usize::from(positive), r(x));
        check(&program(vec![ty], vec![arg], out.clone(), |s, x| {
            let (a, b) = (out.clone(), out.clone());
            case(
                s,
                x[0].clone(),
                vec![
                    (REAL, Box::new(move |_, y| inject(0, &a, mul(y.clone(), y)))),
                    (REAL, Box::new(move |_, y| inject(1, &b, sin(y)))),
                ],
            )
        }));
    }
}

#[test]
fn operations_and_branches() {
    // Guarded arms: max at a > b, a < b; relu; abs.
    for (a, b) in [(1.0, 2.0), (2.0, -1.0)] {
        check(&program(vec![REAL, REAL], vec![r(a), r(b)], REAL, |_, x| {
            prim(Prim::Max, [mul(x[0].clone(), x[0].clone()), prim(Prim::Div, [x[0].clone(), x[1].clone()])])
        }));
        check(&program(vec![REAL, REAL], vec![r(a), r(b)], REAL, |_, x| {
            if_(less(x[0].clone(), x[1].clone()), mul(x[0].clone(), x[1].clone()), sin(x[0].clone()))
        }));
    }
    // An arm not taken never touches the tangent: sqrt at 0 is not multiplied.
    let j = jacobians(&program(vec![REAL], vec![r(0.0)], REAL, |_, x| {
        if_(less(real(0.0), x[0].clone()), prim(Prim::Sqrt, [x[0].clone()]), real(0.0))
    }));
    assert_eq!((&j.forward, &j.reverse), (&vec![vec![0.0]], &vec![vec![0.0]]));
    check(&program(vec![REAL], vec![r(1.0)], Type::Bool, |_, x| less(x[0].clone(), bool_as_real())));
}

fn bool_as_real() -> lang::core::Tm {
    if_(bool(true), two(), real(0.0))
}

#[test]
fn arrays() {
    let xs = || vec![reals(&[0.5, -1.0, 2.0])];
    // build with a captured variable and an index in arithmetic
    check(&program(vec![vector(3), REAL], vec![xs().remove(0), r(0.7)], vector(3), |s, x| {
        let (xs, y) = (x[0].clone(), x[1].clone());
        build(s, Size::constant(3), |_, i| mul(sin(mul(at(&xs, &i), y)), prim(Prim::IntToReal, [i])))
    }));
    // matrix of a vector, and an array of pairs
    let matrix = || Type::array(Size::constant(2), vector(3));
    check(&program(vec![vector(3)], xs(), matrix(), |s, x| {
        let xs = x[0].clone();
        build(s, Size::constant(2), |s, i| build(s, Size::constant(3), |_, j| mul(at(&xs, &i), at(&xs, &j))))
    }));
    let pairs = Type::array(Size::constant(3), Type::tuple([REAL, Type::Int, REAL]));
    check(&program(vec![vector(3)], xs(), pairs, |s, x| {
        let xs = x[0].clone();
        build(s, Size::constant(3), |_, i| tuple([sin(at(&xs, &i)), i.clone(), at(&xs, &int(1))]))
    }));
    check(&program(vec![vector(3)], xs(), REAL, |s, x| {
        let xs = x[0].clone();
        sum(s, Size::constant(3), |_, i| mul(at(&xs, &i), at(&xs, &int(2))))
    }));
    check(&program(vec![REAL, REAL], vec![r(2.0), r(3.0)], vector(3), |_, x| {
        array([mul(x[0].clone(), x[1].clone()), real(1.0), sin(x[1].clone())])
    }));
    // Empty arrays.
    check(&program(vec![vector(0)], vec![reals(&[])], vector(0), |_, _| array([])));
    let j = check(&program(vec![REAL], vec![r(3.0)], REAL, |s, x| {
        let x = x[0].clone();
        sum(s, Size::constant(0), |_, _| x)
    }));
    assert_eq!(j.reverse, [[0.0]]);
    // {xs with [1] = xs[0] * y}, and an element of a matrix that is overwritten twice
    check(&program(vec![vector(3), REAL], vec![xs().remove(0), r(0.7)], vector(3), |_, x| {
        let v = mul(at(&x[0], &int(0)), x[1].clone());
        update(x[0].clone(), [int(1)], v, site())
    }));
    check(&program(vec![vector(3), REAL], vec![xs().remove(0), r(0.7)], matrix(), |s, x| {
        let (xs, y) = (x[0].clone(), x[1].clone());
        let m = build(s, Size::constant(2), |s, i| {
            build(s, Size::constant(3), |_, j| mul(at(&xs, &i), at(&xs, &j)))
        });
        let once = update(m, [int(1), int(2)], sin(y.clone()), site());
        update(once, [int(1), int(2)], mul(y.clone(), y), site())
    }));
    check(&program(vec![vector(3)], xs(), Type::array(Size::constant(3), Type::Int), |_, x| {
        Arc::new(Term::Argsort(x[0].clone()))
    }));
    // sorted xs, by an index that the derivative does not see
    check(&program(vec![vector(3)], xs(), vector(3), |s, x| {
        let (xs, ints) = (x[0].clone(), Type::array(Size::constant(3), Type::Int));
        lett(s, ints, Arc::new(Term::Argsort(xs.clone())), |s, order| {
            build(s, Size::constant(3), |_, i| sin(at(&xs, &at(&order, &i))))
        })
    }));
}

#[test]
fn sizes() {
    // dot [n] (x y : real^n) = Σ_{i<n} x[i] * y[i], at n = 4
    let mut p = Program::default();
    let n = |ns: &[Size]| Type::array(ns[0].clone(), REAL);
    define_sized(
        &mut p,
        "dot",
        &["n"],
        |ns| vec![n(ns), n(ns)],
        |_| REAL,
        |s, ns, x| {
            let (x, y) = (x[0].clone(), x[1].clone());
            sum(s, ns[0].clone(), |_, i| mul(at(&x, &i), at(&y, &i)))
        },
    );
    let args = vec![reals(&[1.0, 2.0, 3.0, 4.0]), reals(&[-1.0, 0.5, 2.0, 0.0])];
    check(&Case { program: p.clone(), def: "dot".into(), args: args.clone(), sizes: vec![4] });
    // norm2 [n] x = dot x x + dot x (build n (i. sin x[i])): calls, with both arguments active
    define_sized(
        &mut p,
        "norm2",
        &["n"],
        |ns| vec![n(ns)],
        |_| REAL,
        |s, ns, x| {
            let (x, size) = (x[0].clone(), ns[0].clone());
            let again = build(s, size.clone(), |_, i| sin(at(&x, &i)));
            let call = |a, b| calls("dot", vec![size.clone()], vec![a, b]);
            add(call(x.clone(), x.clone()), call(x.clone(), again))
        },
    );
    check(&Case { program: p.clone(), def: "norm2".into(), args: args[..1].to_vec(), sizes: vec![4] });
    // let m = n + 1 in Σ_{i<m} …: a size bound by let
    define_sized(
        &mut p,
        "more",
        &["n"],
        |ns| vec![n(ns)],
        |_| REAL,
        |s, ns, x| {
            let x = x[0].clone();
            let m = lang::core::Binder::new(s.fresh("m"), Type::Int);
            let more = ns[0].checked_add(&Size::constant(1)).expect("small");
            let body =
                sum(s, Size::var(m.var.clone()), |_, i| mul(prim(Prim::IntToReal, [i]), at(&x, &int(0))));
            lang::core::make::let_(m, lang::core::make::size(&more), body)
        },
    );
    check(&Case { program: p, def: "more".into(), args: args[..1].to_vec(), sizes: vec![4] });
}

#[test]
fn extrema() {
    for which in [Extremum::Max, Extremum::Min] {
        check(&program(vec![vector(3), REAL], vec![reals(&[0.5, -1.0, 2.0]), r(1.5)], REAL, |s, x| {
            let (xs, y) = (x[0].clone(), x[1].clone());
            extremum(s, which, Size::constant(3), |_, i| mul(mul(at(&xs, &i), y.clone()), at(&xs, &i)))
        }));
        // Shared among ties.
        let tied = program(vec![vector(3)], vec![reals(&[2.0, 2.0, 2.0])], REAL, |s, x| {
            let xs = x[0].clone();
            extremum(s, which, Size::constant(3), |_, i| at(&xs, &i))
        });
        let j = jacobians(&tied);
        let third = 1.0 / 3.0;
        assert_eq!((&j.forward, &j.reverse), (&vec![vec![third; 3]], &vec![vec![third; 3]]));
        let j = jacobians(&program(vec![vector(0)], vec![reals(&[])], REAL, |s, x| {
            let xs = x[0].clone();
            extremum(s, which, Size::constant(0), |_, i| at(&xs, &i))
        }));
        assert_eq!(j.reverse, [[0.0; 0]]);
    }
}

#[test]
fn loops() {
    // state, outputs and a captured variable, all active; n = 3 and n = 0
    for n in [3, 0] {
        let result = Type::tuple([Type::tuple([REAL, REAL]), Type::array(Size::constant(n), REAL)]);
        check(&program(
            vec![REAL, REAL, vector(3)],
            vec![r(0.4), r(1.1), reals(&[0.3, -0.6, 0.9])],
            result,
            |s, x| {
                let (a, b, xs) = (x[0].clone(), x[1].clone(), x[2].clone());
                let pair = Type::tuple([REAL, REAL]);
                looped(s, pair, tuple([a.clone(), b.clone()]), Size::constant(n), |s, st, i| {
                    let (p, q) = (proj(st.clone(), 0), proj(st, 1));
                    lett(s, REAL, mul(add(p, b), at(&xs, &i)), |_, next| {
                        tuple([tuple([sin(next.clone()), add(q, next.clone())]), mul(next, a)])
                    })
                })
            },
        ));
    }
    // int and bool state
    let state = Type::tuple([Type::Int, REAL]);
    check(&program(vec![REAL], vec![r(1.3)], state.clone(), |s, x| {
        let x = x[0].clone();
        let start = tuple([int(1), x.clone()]);
        let run = looped(s, state, start, Size::constant(4), |_, st, _| {
            let k = proj(st.clone(), 0);
            let next = mul(proj(st, 1), prim(Prim::IntToReal, [k.clone()]));
            tuple([tuple([prim(Prim::IAdd, [k, int(1)]), mul(next, x)]), tuple([])])
        });
        proj(run, 0)
    }));
}

#[test]
fn whiles() {
    // s := x; while s < 40 do s := s*s + x*y; never, once and often
    for x in [50.0, 6.0, 1.3] {
        check(&program(vec![REAL, REAL], vec![r(x), r(0.7)], REAL, |s, a| {
            let (x, y) = (a[0].clone(), a[1].clone());
            whiled(
                s,
                REAL,
                mul(x.clone(), y.clone()),
                |_, s| less(s, real(40.0)),
                |_, s| add(mul(s.clone(), s), mul(x, y)),
            )
        }));
    }
    // one inside another
    check(&program(vec![REAL], vec![r(1.2)], REAL, |s, a| {
        let x = a[0].clone();
        whiled(
            s,
            REAL,
            x.clone(),
            |_, s| less(s, real(100.0)),
            |s, st| {
                let start = add(st, x.clone());
                whiled(s, REAL, start, |_, s| less(s, real(7.0)), |_, s| mul(s, x))
            },
        )
    }));
}

#[test]
fn the_rest() {
    // check keeps its condition and its place
    let failing = |x: f64| {
        program(vec![REAL], vec![r(x)], REAL, |_, a| {
            let cond = less(real(0.0), a[0].clone());
            let body = sin(a[0].clone());
            let failure = Failure::DivisionByZero;
            Arc::new(Term::Check { cond, failure, details: vec![int(3)], site: site(), body })
        })
    };
    check(&failing(0.5));
    let case = failing(-0.5);
    let mut p = case.program.clone();
    for mode in [Mode::Forward, Mode::Reverse] {
        let name = ad::derive(&mut p, &"f".into(), mode).expect("it has a derivative");
        assert!(lang::eval::run(&p, &name, &case.args, &[]).is_err());
    }
    // detach x * x: the derivative of c * x at c = x
    let j =
        jacobians(&program(vec![REAL], vec![r(3.0)], REAL, |_, x| mul(detach(x[0].clone()), x[0].clone())));
    assert_eq!((&j.forward, &j.reverse), (&vec![vec![3.0]], &vec![vec![3.0]]));
    // zero[real] and a value nobody reads
    check(&program(vec![REAL], vec![r(3.0)], REAL, |s, x| {
        let x = x[0].clone();
        let unread = Arc::new(Term::Unread(REAL));
        lett(s, REAL, unread, |_, _| add(mul(x.clone(), x), Arc::new(Term::Zero(LType::Real))))
    }));
}

/// What is active is not put into a box, nor taken out of one: a handle has no derivative.
#[test]
fn boxes() {
    let rejected = |build: fn(Tm) -> Tm| {
        let case = program(vec![REAL], vec![r(3.0)], REAL, |_, x| build(x[0].clone()));
        for mode in [Mode::Forward, Mode::Reverse] {
            let derived = ad::derive(&mut case.program.clone(), &"f".into(), mode);
            assert_eq!(derived.map_err(|e| e.reason), Err(ad::Reason::NestedDerivative));
        }
    };
    rejected(|x| proj(tuple([x.clone(), Arc::new(Term::Box(x))]), 0));
    rejected(|x| mul(x, Arc::new(Term::Unbox(REAL, int(0)))));
}

/// Which of D's rules the programs above do not use.
#[test]
fn every_rule() {
    variables_and_literals();
    lets_and_pairs();
    sums();
    operations_and_branches();
    primitives();
    arrays();
    sizes();
    extrema();
    loops();
    whiles();
    the_rest();
    functions();
    nested();
    boxes();
    let unused: Vec<_> = [Mode::Forward, Mode::Reverse]
        .into_iter()
        .flat_map(|mode| ad::rules::Rule::ALL.iter().map(move |rule| (mode, *rule)))
        .filter(|(mode, rule)| ad::rules::uses(*mode, *rule) == 0)
        .map(|(mode, rule)| format!("{mode:?} {}", rule.name()))
        .collect();
    assert!(unused.is_empty(), "no program here uses the rules {unused:?}");
}

#[test]
fn primitives() {
    for op in Prim::ALL {
        let row = op.row();
        let (mut params, mut args) = (vec![], vec![]);
        for (scalar, (low, high)) in row.args.iter().zip(row.samples) {
            let x = low + 0.37 * (high - low);
            params.push(lang::typing::scalar(*scalar));
            args.push(match scalar {
                Scalar::Real => r(x),
                Scalar::Int => Value::Int(x as i64),
                Scalar::Bool => Value::Bool(true),
            });
        }
        check(&program(params, args, lang::typing::scalar(row.result), |_, x| prim(*op, x.to_vec())));
    }
}

#[test]
fn functions() {
    // let f = λy. sin (x * y) in f x + f (f 2): a captured variable, one function used several times
    check(&program(vec![REAL], vec![r(0.8)], REAL, |s, x| {
        let x = x[0].clone();
        let f = fun(s, REAL, |_, y| sin(mul(x.clone(), y)));
        lett(s, Type::fun(REAL, REAL), f, |_, f| {
            let at = |a| app(f.clone(), a);
            add(at(x), at(at(two())))
        })
    }));
}

#[test]
fn nested() {
    // A derivative of something constant is a constant: x * (D→ (λy. y*y) 3).0
    let diff = |mode, of: fn(lang::core::Tm) -> lang::core::Tm| {
        program(vec![REAL], vec![r(1.5)], REAL, move |s, x| {
            let f = fun(s, REAL, |_, y| mul(y.clone(), y));
            let inner = Arc::new(Term::Diff { mode, f, x: of(x[0].clone()), site: site() });
            mul(x[0].clone(), proj(inner, 0))
        })
    };
    for mode in [Mode::Forward, Mode::Reverse] {
        for order in [Mode::Forward, Mode::Reverse] {
            let constant = diff(mode, |_| real(3.0));
            ad::derive(&mut constant.program.clone(), &"f".into(), order).expect("a constant inside");
            // … and one of something active is refused.
            let active = diff(mode, |x| x);
            let e = ad::derive(&mut active.program.clone(), &"f".into(), order).expect_err("nested");
            assert_eq!(e.reason, ad::Reason::NestedDerivative);
        }
    }
    // let l = λ̲z. z + z in x * (l • 3)
    let j = check(&program(vec![REAL], vec![r(1.5)], REAL, |s, x| {
        let z = LBinder::new(s.fresh("z"), LType::Real);
        let double = lin_lam(z.clone(), lin::plus(lin::var(&z.var), lin::var(&z.var)));
        lett(s, Type::lin(LType::Real, LType::Real), double, |_, l| mul(x[0].clone(), lin_app(l, real(3.0))))
    }));
    assert_eq!(j.forward, [[6.0]]);
    // The same after the inner one is resolved: x * ((D (λy. y*y) t).1 • 1)
    let gradient = |mode, of: fn(lang::core::Tm) -> lang::core::Tm| {
        let case = program(vec![REAL], vec![r(1.5)], REAL, move |s, x| {
            let f = fun(s, REAL, |_, y| mul(y.clone(), y));
            let inner = Arc::new(Term::Diff { mode, f, x: of(x[0].clone()), site: site() });
            mul(x[0].clone(), lin_app(proj(inner, 1), real(1.0)))
        });
        let mut p = case.program;
        ad::resolve(&mut p, &"f".into()).expect("the operand is a λ");
        Case { program: p, ..case }
    };
    for mode in [Mode::Forward, Mode::Reverse] {
        let j = check(&gradient(mode, |_| real(3.0)));
        assert_eq!(j.reverse, [[6.0]]);
        // let c = 3 in let r = D (λy. y*y) c in x * r.0 * (r.1 • 1), all of it constant but x
        let mut bound = program(vec![REAL], vec![r(1.5)], REAL, |s, x| {
            let f = fun(s, REAL, |_, y| mul(y.clone(), y));
            let map = Type::lin(LType::Real, LType::Real);
            lett(s, REAL, real(3.0), |s, c| {
                let inner = Arc::new(Term::Diff { mode, f, x: c, site: site() });
                lett(s, Type::tuple([REAL, map]), inner, |_, r| {
                    let gradient = lin_app(proj(r.clone(), 1), real(1.0));
                    mul(mul(x[0].clone(), proj(r, 0)), gradient)
                })
            })
        });
        ad::resolve(&mut bound.program, &"f".into()).expect("the operand is a λ");
        assert_eq!(check(&bound).reverse, [[54.0]]);
        let mut active = gradient(mode, |x| x).program;
        let e = ad::derive(&mut active, &"f".into(), mode).expect_err("nested");
        assert_eq!(e.reason, ad::Reason::NestedDerivative);
    }
}
