//! Functions inside programs of first-order type, the paper's examples, and the functor laws.

mod common;
use common::*;
use lang::core::make::{app, if_, lam, lin_app, prim, proj, real, tuple, var};
use lang::core::{Binder, Program, Term, Tm};
use lang::eval::{Value, run};
use lang::name::Supply;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::Lin;
use lang::types::{LType, Mode, Type};
use lang::walk::{Mapper, map_lin, map_term};
use std::sync::Arc;

fn real_to(ty: Type) -> Type {
    Type::fun(REAL, ty)
}
fn endo() -> Type {
    real_to(REAL)
}
fn three() -> Size {
    Size::constant(3)
}
/// map f xs
fn map(s: &mut Supply, f: &Tm, xs: &Tm) -> Tm {
    build(s, three(), |_, i| app(f.clone(), at(xs, &i)))
}

// ---- the examples of the CHAD paper

#[test]
fn paper_example_1() {
    // x ↦ ((2x, 2x²), cos 2x²), with 2x and 2x² shared
    let ty = Type::tuple([Type::tuple([REAL, REAL]), REAL]);
    let j = check(&program(vec![REAL], vec![r(0.9)], ty, |s, x| {
        let x = x[0].clone();
        lett(s, REAL, mul(two(), x.clone()), |s, y| {
            lett(s, REAL, mul(x, y.clone()), |_, z| tuple([tuple([y, z.clone()]), prim(Prim::Cos, [z])]))
        })
    }));
    let expected = [2.0, 4.0 * 0.9, -4.0 * 0.9 * (2.0f64 * 0.9 * 0.9).sin()];
    for (row, e) in j.forward.iter().zip(expected) {
        assert!(row[0].close(e), "{row:?}, expected {e}");
    }
}

#[test]
fn paper_example_2() {
    // sin ((x1 x4 + 2 x2) x3 + x4)
    check(&program(vec![REAL; 4], [0.3, -1.1, 0.8, 0.5].map(r).to_vec(), REAL, |_, x| {
        let inner = add(mul(x[0].clone(), x[3].clone()), mul(two(), x[1].clone()));
        sin(add(mul(inner, x[2].clone()), x[3].clone()))
    }));
}

#[test]
fn paper_example_3() {
    // map (λz. x z + 1) (replicate x)
    let j = check(&program(vec![REAL], vec![r(1.7)], vector(3), |s, x| {
        let x = x[0].clone();
        let f = fun(s, REAL, |_, z| add(mul(x.clone(), z), real(1.0)));
        lett(s, endo(), f, |s, f| {
            let xs = build(s, three(), |_, _| x);
            lett(s, vector(3), xs, |s, xs| map(s, &f, &xs))
        })
    }));
    assert!(j.forward.iter().all(|row| row[0].close(2.0 * 1.7)));
}

#[test]
fn paper_example_4() {
    // sum (map (x1 *) x2)
    let args = vec![r(1.7), reals(&[0.5, -1.0, 2.0])];
    let j = check(&program(vec![REAL, vector(3)], args, REAL, |s, x| {
        let (x1, x2) = (x[0].clone(), x[1].clone());
        let f = fun(s, REAL, |_, z| mul(x1, z));
        lett(s, endo(), f, |s, f| {
            let ys = map(s, &f, &x2);
            lett(s, vector(3), ys, |s, ys| sum(s, three(), |_, i| at(&ys, &i)))
        })
    }));
    assert_eq!(j.reverse, [[1.5, 1.7, 1.7, 1.7]]);
}

// ---- functions

/// λf. λy. f (f y)
fn twice(s: &mut Supply) -> Tm {
    fun(s, endo(), |s, f| fun(s, REAL, |_, y| app(f.clone(), app(f, y))))
}

#[test]
fn twice_and_thrice() {
    // twice (λy. sin (x y)) x, and twice twice of it
    check(&program(vec![REAL], vec![r(0.8)], REAL, |s, x| {
        let x = x[0].clone();
        let f = fun(s, REAL, |_, y| sin(mul(x.clone(), y)));
        let twice = twice(s);
        call2(&twice, f, x)
    }));
    check(&program(vec![REAL], vec![r(0.8)], REAL, |s, x| {
        let x = x[0].clone();
        let f = fun(s, REAL, |_, y| sin(mul(x.clone(), y)));
        let (inner, outer) = (twice(s), twice(s));
        call2(&outer, app(inner, f), x)
    }));
}

#[test]
fn functions_returned() {
    // let g = λa. let c = sin a in λb. a b + x c in g (x y) (g x y), a closure in a closure
    check(&program(vec![REAL, REAL], vec![r(0.8), r(-0.3)], REAL, |s, v| {
        let (x, y) = (v[0].clone(), v[1].clone());
        let g = fun(s, REAL, |s, a| {
            lett(s, REAL, sin(a.clone()), |s, c| fun(s, REAL, |_, b| add(mul(a, b), mul(x.clone(), c))))
        });
        lett(s, real_to(endo()), g, |_, g| call2(&g, mul(x.clone(), y.clone()), call2(&g, x.clone(), y)))
    }));
    // λa. λb. λc. a b c x, applied in part
    check(&program(vec![REAL], vec![r(1.4)], REAL, |s, v| {
        let x = v[0].clone();
        let f =
            fun(s, REAL, |s, a| fun(s, REAL, |s, b| fun(s, REAL, |_, c| mul(mul(a, b), mul(c, x.clone())))));
        lett(s, endo(), call2(&f, x.clone(), sin(x.clone())), |_, h| app(h.clone(), app(h, x)))
    }));
}

#[test]
fn functions_in_data() {
    // a pair of functions that share what they capture, one chosen by a branch, one out of a sum
    let pair = Type::tuple([endo(), endo()]);
    for y in [0.5, 1.5] {
        check(&program(vec![REAL, REAL], vec![r(0.8), r(y)], REAL, |s, v| {
            let (x, y) = (v[0].clone(), v[1].clone());
            let f = fun(s, REAL, |_, a| mul(a, x.clone()));
            let g = fun(s, REAL, |_, a| sin(mul(add(a, x.clone()), y.clone())));
            let either = Type::Sum(Arc::from([REAL, endo()]));
            lett(s, pair.clone(), tuple([f, g]), |s, p| {
                let (f, g) = (proj(p.clone(), 0), proj(p, 1));
                let pick = if_(less(y.clone(), real(1.0)), f.clone(), g.clone());
                lett(s, endo(), pick, |s, h| {
                    let or = if_(less(y.clone(), real(1.0)), inject(0, &either, y), inject(1, &either, g));
                    let (h1, x1) = (h.clone(), x.clone());
                    let value = case(
                        s,
                        or,
                        vec![
                            (REAL, Box::new(move |_, a| app(h1.clone(), a))),
                            (endo(), Box::new(move |_, k| app(k, x1.clone()))),
                        ],
                    );
                    add(value, app(f, app(h, x)))
                })
            })
        }));
    }
}

#[test]
fn functions_in_iteration() {
    // f := λz. f (z sin x), three times: a function as the state of a loop
    check(&program(vec![REAL], vec![r(1.2)], REAL, |s, v| {
        let x = v[0].clone();
        let start = fun(s, REAL, |_, y| mul(y.clone(), mul(y, x.clone())));
        let run = looped(s, endo(), start, three(), |s, f, _| {
            let next = fun(s, REAL, |_, z| app(f, mul(z, sin(x.clone()))));
            tuple([next, tuple([])])
        });
        app(proj(run, 0), x)
    }));
    // while, with a function of Γ in its condition and body
    check(&program(vec![REAL], vec![r(1.2)], REAL, |s, v| {
        let x = v[0].clone();
        let f = fun(s, REAL, |_, y| mul(y, add(x.clone(), real(0.5))));
        lett(s, endo(), f, |s, f| {
            let cond = |_: &mut Supply, s: Tm| less(app(f.clone(), s), real(9.0));
            whiled(s, REAL, x, cond, |_, s| app(f.clone(), s))
        })
    }));
    // build and Σ over applications, with indices and branches that use functions
    check(&program(vec![vector(3)], vec![reals(&[0.4, -0.2, 1.1])], REAL, |s, v| {
        let xs = v[0].clone();
        let f = fun(s, REAL, |s, y| sum(s, three(), |_, i| sin(mul(at(&xs, &i), y))));
        lett(s, endo(), f, |s, f| {
            sum(s, three(), |_, i| {
                let positive = less(real(0.0), app(f.clone(), at(&xs, &i)));
                if_(positive, app(f, at(&xs, &i)), mul(at(&xs, &i), two()))
            })
        })
    }));
}

#[test]
fn functions_as_parameters() {
    // compose f g x = f (g x);  f x = compose (λy. sin (x y)) (λy. y y) x
    let mut p = Program::default();
    define(&mut p, "compose", vec![endo(), endo(), REAL], REAL, |_, x| {
        app(x[0].clone(), app(x[1].clone(), x[2].clone()))
    });
    define(&mut p, "f", vec![REAL], REAL, |s, v| {
        let x = v[0].clone();
        let f = fun(s, REAL, |_, y| sin(mul(x.clone(), y)));
        let g = fun(s, REAL, |_, y| mul(y.clone(), y));
        calls("compose", vec![], vec![f, g, x])
    });
    check(&Case { program: p, def: "f".into(), args: vec![r(0.7)], sizes: vec![] });
}

#[test]
fn recursion() {
    // power x k = if k < 1 then 1 else x * power x (k-1)
    let mut p = Program::default();
    define(&mut p, "power", vec![REAL, Type::Int], REAL, |_, v| {
        let less_one = prim(Prim::ISub, [v[1].clone(), lang::core::make::int(1)]);
        let done = prim(Prim::ILt, [v[1].clone(), lang::core::make::int(1)]);
        if_(done, real(1.0), mul(v[0].clone(), calls("power", vec![], vec![v[0].clone(), less_one])))
    });
    let args = vec![r(1.5), Value::Int(3)];
    let j = check(&Case { program: p, def: "power".into(), args, sizes: vec![] });
    assert_eq!(j.reverse, [[3.0 * 1.5 * 1.5]]);
}

// ---- the functor laws

/// Both programs have the same value and the same derivatives.
fn equal(
    args: Vec<V>,
    result: Type,
    t: impl FnOnce(&mut Supply, &[Tm]) -> Tm,
    s: impl FnOnce(&mut Supply, &[Tm]) -> Tm,
) {
    let params: Vec<Type> =
        args.iter().map(|v| if v.as_array().is_some() { vector(3) } else { REAL }).collect();
    let a = check(&program(params.clone(), args.clone(), result.clone(), t));
    let b = check(&program(params, args, result, s));
    let close =
        |x: &[Vec<f64>], y: &[Vec<f64>]| x.iter().flatten().zip(y.iter().flatten()).all(|(x, y)| x.close(*y));
    assert!(a.value.close(&b.value, 1e-14, 1e-14));
    assert!(close(&a.forward, &b.forward) && close(&a.reverse, &b.reverse));
}

#[test]
fn identity_and_composition() {
    let j = check(&program(vec![vector(3)], vec![reals(&[1.0, 2.0, 3.0])], vector(3), |_, x| x[0].clone()));
    assert_eq!(j.forward, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(j.forward, j.reverse);
    // J(g ∘ f) = J(g) J(f) for f x = (x0 x1, sin x2, x1) and g y = (y0 y2, y1 y1)
    let f = |s: &mut Supply, x: &Tm| {
        let _ = s;
        let x = |k| at(x, &lang::core::make::int(k));
        array([mul(x(0), x(1)), sin(x(2)), x(1)])
    };
    let g = |y: &Tm| {
        let y = |k| at(y, &lang::core::make::int(k));
        array([mul(y(0), y(2)), mul(y(1), y(1))])
    };
    let arg = reals(&[0.5, -1.0, 2.0]);
    let jf = check(&program(vec![vector(3)], vec![arg.clone()], vector(3), |s, x| f(s, &x[0])));
    let jg = check(&program(vec![vector(3)], vec![jf.value.clone()], vector(2), |_, x| g(&x[0])));
    let j = check(&program(vec![vector(3)], vec![arg], vector(2), |s, x| {
        let first = f(s, &x[0]);
        lett(s, vector(3), first, |_, y| g(&y))
    }));
    for (row, jg) in j.reverse.iter().zip(&jg.reverse) {
        for (k, entry) in row.iter().enumerate() {
            let expected: f64 = jg.iter().zip(&jf.reverse).map(|(g, f)| g * f[k]).sum();
            assert!(entry.close(expected));
        }
    }
}

#[test]
fn beta_and_eta() {
    let args = || vec![r(0.6), r(-1.3)];
    let body = |y: Tm, x: &[Tm]| sin(add(mul(y.clone(), x[1].clone()), mul(y.clone(), y)));
    let arg = |x: &[Tm]| mul(x[0].clone(), x[1].clone());
    // let x = t in s  ≡  s[t/x]  ≡  (λx. s) t
    equal(args(), REAL, |s, x| lett(s, REAL, arg(x), |_, y| body(y, x)), |_, x| body(arg(x), x));
    equal(
        args(),
        REAL,
        |s, x| lett(s, REAL, arg(x), |_, y| body(y, x)),
        |s, x| app(fun(s, REAL, |_, y| body(y, x)), arg(x)),
    );
    // λx. f x  ≡  f, and for a let-bound f
    equal(
        args(),
        REAL,
        |s, x| {
            let f = fun(s, REAL, |_, y| body(y, x));
            lett(s, endo(), f, |s, f| app(fun(s, REAL, |_, y| app(f, y)), x[0].clone()))
        },
        |_, x| body(x[0].clone(), x),
    );
    // ⟨fst t, snd t⟩ ≡ t;  fst ⟨t, s⟩ ≡ t
    let pair = Type::tuple([REAL, REAL]);
    equal(
        args(),
        pair.clone(),
        |s, x| {
            lett(s, pair.clone(), tuple([arg(x), sin(x[0].clone())]), |_, p| {
                tuple([proj(p.clone(), 0), proj(p, 1)])
            })
        },
        |_, x| tuple([arg(x), sin(x[0].clone())]),
    );
    equal(args(), REAL, |_, x| proj(tuple([arg(x), x[0].clone()]), 0), |_, x| arg(x));
    // case in_i t of {in_i x → s_i} ≡ s_i[t/x]
    let either = Type::Sum(Arc::from([REAL, REAL]));
    for i in [0, 1] {
        let either = either.clone();
        equal(
            args(),
            REAL,
            |s, x| {
                let (a, b) = (x.to_vec(), x.to_vec());
                case(
                    s,
                    inject(i, &either, arg(x)),
                    vec![
                        (REAL, Box::new(move |_, y| body(y, &a))),
                        (REAL, Box::new(move |_, y| sin(mul(y, b[0].clone())))),
                    ],
                )
            },
            |_, x| if i == 0 { body(arg(x), x) } else { sin(mul(arg(x), x[0].clone())) },
        );
    }
    // (build n (λi. t))[j] ≡ t[j/i], and curry ⊣ uncurry
    equal(
        args(),
        REAL,
        |s, x| {
            let whole = build(s, three(), |_, i| mul(prim(Prim::IntToReal, [i]), arg(x)));
            at(&whole, &lang::core::make::int(2))
        },
        |_, x| mul(two(), arg(x)),
    );
    equal(
        args(),
        REAL,
        |s, x| {
            let f = fun(s, REAL, |s, a| fun(s, REAL, |_, b| sin(mul(a, b))));
            call2(&f, x[0].clone(), arg(x))
        },
        |s, x| {
            let f = fun(s, Type::tuple([REAL, REAL]), |_, p| sin(mul(proj(p.clone(), 0), proj(p, 1))));
            app(f, tuple([x[0].clone(), arg(x)]))
        },
    );
}

// ---- derivatives in programs

#[test]
fn derivatives_in_programs() {
    // g x c = (D (λy. sin (y c)) (x x)).1 • 1, with c a constant of it
    for mode in [Mode::Forward, Mode::Reverse] {
        let mut p = Program::default();
        define(&mut p, "g", vec![REAL, REAL], REAL, |s, v| {
            let f = fun(s, REAL, |_, y| sin(mul(y, v[1].clone())));
            let diff = Term::Diff { mode, f, x: mul(v[0].clone(), v[0].clone()), site: site() };
            lin_app(proj(Arc::new(diff), 1), real(1.0))
        });
        ad::resolve(&mut p, &"g".into()).expect("the operand is a λ");
        let (x, c) = (1.2f64, 0.7f64);
        let value = run(&p, "g", &[r(x), r(c)], &[]).expect("a value").0;
        assert!(value.close(&r(c * (x * x * c).cos()), 1e-14, 0.0), "{value:?}");
    }
    // A function from outside has no derivative here; neither has an operand that is no λ.
    for inside in [true, false] {
        let mut p = Program::default();
        define(&mut p, "g", vec![endo(), REAL], REAL, |s, v| {
            let y = Binder::new(s.fresh("y"), REAL);
            let f = if inside { lam(y.clone(), app(v[0].clone(), var(&y.var))) } else { v[0].clone() };
            let diff = Term::Diff { mode: Mode::Reverse, f, x: v[1].clone(), site: site() };
            lin_app(proj(Arc::new(diff), 1), real(1.0))
        });
        let e = ad::resolve(&mut p, &"g".into()).expect_err("unknown");
        let expected =
            if inside { ad::Reason::UnknownFunction("a".into()) } else { ad::Reason::OperandUnknown };
        assert_eq!(e.reason, expected);
    }
    // Nor has a definition that is not there; the message says how D came to it.
    let mut p = Program::default();
    define(&mut p, "f", vec![REAL], REAL, |_, x| calls("h", vec![], vec![x[0].clone()]));
    let e = ad::derive(&mut p, &"f".into(), Mode::Forward).expect_err("unknown");
    assert_eq!((e.reason, e.chain), (ad::Reason::UnknownDefinition("h".into()), vec!["f".into()]));
}

// ---- size

/// Formers in D of f, and of what it calls.
fn size(case: Case) -> [usize; 2] {
    struct Count(usize);
    impl Mapper for Count {
        fn term(&mut self, t: &Tm) -> Tm {
            self.0 += 1;
            map_term(self, t)
        }
        fn lin(&mut self, t: &Lin) -> Lin {
            self.0 += 1;
            map_lin(self, t)
        }
        // Types are shared between binders; to walk through each would take longer than D.
        fn ty(&mut self, t: &Type) -> Type {
            t.clone()
        }
        fn lty(&mut self, t: &LType) -> LType {
            t.clone()
        }
    }
    [Mode::Forward, Mode::Reverse].map(|mode| {
        let mut p = case.program.clone();
        let name = ad::derive(&mut p, &"f".into(), mode).expect("it has a derivative");
        let mut count = Count(0);
        lang::big_stack::run(|| count.term(&p.defs[&name].body));
        count.0
    })
}

#[test]
fn derivatives_are_of_the_size_of_the_program() {
    fn lets(s: &mut Supply, k: usize, x: Tm) -> Tm {
        match k {
            0 => x,
            _ => lett(s, REAL, mul(x.clone(), x), |s, y| lets(s, k - 1, y)),
        }
    }
    fn closures(s: &mut Supply, k: usize, x: Tm) -> Tm {
        match k {
            0 => x,
            _ => {
                let f = fun(s, REAL, |s, y| closures(s, k - 1, mul(x.clone(), y)));
                app(f, x)
            }
        }
    }
    fn builds(s: &mut Supply, k: usize, x: Tm) -> Tm {
        match k {
            0 => x,
            _ => sum(s, three(), |s, i| builds(s, k - 1, mul(x, prim(Prim::IntToReal, [i])))),
        }
    }
    fn whiles(s: &mut Supply, k: usize, x: Tm) -> Tm {
        match k {
            0 => mul(x.clone(), x),
            _ => whiled(s, REAL, x, |_, s| less(s, two()), |s, st| whiles(s, k - 1, st)),
        }
    }
    let families: [fn(&mut Supply, usize, Tm) -> Tm; 4] = [lets, closures, builds, whiles];
    for family in families {
        let at = |k| size(program(vec![REAL], vec![], REAL, |s, x| family(s, k, x[0].clone())));
        let (a, b, c) = (at(10), at(20), at(40));
        for mode in 0..2 {
            // Linear in k; whiles count their trips by copies of what they contain, so they may be quadratic.
            let (first, second) = (b[mode] - a[mode], c[mode] - b[mode]);
            assert!(second <= 5 * first, "sizes {} {} {}", a[mode], b[mode], c[mode]);
        }
    }
    // Deep programs do not exhaust the stack.
    size(program(vec![REAL], vec![], REAL, |s, x| lets(s, 3000, x[0].clone())));
}
