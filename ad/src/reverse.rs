//! D←, chad.md §4 and §6: Γ ⊢ t : τ becomes ⟨p, L⟩ : D←(τ)_1 * (D←(τ)_2 ⊸ D←(Γ)_2).
//!
//! Letters as there: p is the value; L, M, N linear maps; w a cotangent. Each arm is its rule, unsimplified.

use crate::context::{D, Dual, bind_all};
use crate::error::{AdError, Reason};
use crate::prim::{d_op_transposed, sum};
use crate::shared;
use lang::core::make::{build, if_, index, int, lam, let_, lin_lam, proj, tuple, update, var};
use lang::core::{Binder, Term, Tm};
use lang::size::Size;
use lang::target::{Direction, LBinder, LinTerm, make as lin};
use lang::types::{LType, Type};
use std::sync::Arc;

pub(crate) fn reverse(d: &mut D, t: &Tm) -> Result<Dual, AdError> {
    let env = d.env();
    Ok(match &**t {
        // x
        //   p = x                                           λ̲w. coproj_x w
        Term::Var(x) => {
            let ty = d.scope.vars[x].clone();
            match d.slot(x) {
                Some(up) => {
                    let l = d.on(&ty, |w| lin::coproj(env, up, w));
                    Dual { term: tuple([t.clone(), l]), ty }
                }
                None => shared::outer_variable(d, x, ty)?,
            }
        }

        // literal
        //   p = literal                                     λ̲w. 0̲
        Term::Lit(lit) => d.constant(t.clone(), shared::lit_type(*lit)),

        // let x = t in s        ⟨p,L⟩ = D(t); ⟨q,M⟩ = D(s) with x := p
        //   q                                               λ̲w. let z̲ = M • w in fst z̲ + L • snd z̲
        Term::Let(x, t, s) => {
            d.bound_to(x, t);
            let t = d.sub(t)?;
            let s = d.under(&[(&x.var, &x.ty)], |d| d.sub(s))?;
            let z = d.extended(&x.ty);
            let m = d.on(&s.ty, |w| {
                lin::let_(
                    z.clone(),
                    s.at(w),
                    lin::plus(lin::proj(lin::var(&z.var), 0), t.at(lin::proj(lin::var(&z.var), 1))),
                )
            });
            let result = s.bind(tuple([s.p(), m]));
            Dual { term: t.bind(let_(d.primal_binder(x), t.p(), result)), ty: s.ty }
        }

        // ⟨t1, …, tk⟩           ⟨pi,Li⟩ = D(ti)
        //   ⟨p1, …, pk⟩                                     λ̲w. L1 • w.1 + … + Lk • w.k
        Term::Tuple(ts) => {
            let ts = d.subs(ts)?;
            let ty = Type::tuple(ts.iter().map(|t| t.ty.clone()));
            let l =
                d.on(&ty, |w| sum(&env, ts.iter().enumerate().map(|(i, t)| t.at(lin::proj(w.clone(), i)))));
            let p = tuple(ts.iter().map(|t| t.p()));
            Dual { term: bind_all(&ts, tuple([p, l])), ty }
        }

        // t.i                   ⟨p,L⟩ = D(t)
        //   p.i                                             λ̲w. L • ⟨0̲, …, w, …, 0̲⟩
        Term::Proj(t, i) => {
            let t = d.sub(t)?;
            let (of, ty) = (d.tangent(&t.ty), shared::component(&t.ty, *i));
            let l = d.on(&ty, |w| t.at(shared::at_component(&of, *i, w)));
            Dual { term: t.bind(tuple([proj(t.p(), *i), l])), ty }
        }

        // in_i t                ⟨p,L⟩ = D(t)
        //   in_i p                                          λ̲w. L • fromIn_i w
        Term::Inject(i, ty, t) => {
            let t = d.sub(t)?;
            let l = d.on(ty, |w| t.at(Arc::new(LinTerm::FromInject(*i, w))));
            let p = Arc::new(Term::Inject(*i, ty.primal(d.mode), t.p()));
            Dual { term: t.bind(tuple([p, l])), ty: ty.clone() }
        }

        // case t of {in_i x → s_i}        ⟨p,L⟩ = D(t); in the branch that p takes, ⟨q,M⟩ = D(s_i)
        //   q                                               λ̲w. let z̲ = M • w in fst z̲ + L • in_i (snd z̲)
        Term::Case(t, arms) => {
            let t = d.sub(t)?;
            let of = d.tangent(&t.ty);
            let mut ty = None;
            let mut duals = vec![];
            for (i, (x, s)) in arms.iter().enumerate() {
                let s = d.under(&[(&x.var, &x.ty)], |d| d.sub(s))?;
                let z = d.extended(&x.ty);
                let payload = Arc::new(LinTerm::Inject(i, of.clone(), lin::proj(lin::var(&z.var), 1)));
                let m = d.on(&s.ty, |w| {
                    let into = lin::plus(lin::proj(lin::var(&z.var), 0), t.at(payload));
                    lin::let_(z, s.at(w), into)
                });
                duals.push((d.primal_binder(x), s.bind(tuple([s.p(), m]))));
                ty.get_or_insert(s.ty);
            }
            let ty = ty.unwrap_or_else(Type::unit);
            Dual { term: t.bind(Arc::new(Term::Case(t.p(), duals))), ty }
        }

        // λx. t                 f = λx. D(t)
        //   λx. let ⟨q,M⟩ = f x in ⟨q, λ̲w. snd (M • w)⟩     λ̲w. case w of !x ⊗ z̲ → fst (snd(f x) • z̲)
        Term::Lam(x, t) => {
            let f = shared::function(d, x, t)?;
            let (x1, x2) = (f.argument(d), f.argument(d));
            let q = f.call(d, &x1);
            let m = d.on(&f.ty, |w| lin::proj(q.at(w), 1));
            let p = lam(x1, q.bind(tuple([q.p(), m])));
            let ty = Type::fun(x.ty.clone(), f.ty.clone());
            let z = LBinder::new(d.supply.fresh("z"), d.tangent(&f.ty));
            let l = d.on(&ty, |w| {
                let body = lin::proj(f.at(&x2, lin::var(&z.var)), 0);
                Arc::new(LinTerm::TensorElim { scrutinee: w, var: x2, lin: z, body })
            });
            Dual { term: f.bind(tuple([p, l])), ty }
        }

        // t s                   ⟨f,L⟩ = D(t); ⟨a,M⟩ = D(s); ⟨q,N⟩ = f a
        //   q                                               λ̲w. L • (!a ⊗ w) + M • (N • w)
        Term::App(t, s) => {
            let (t, s) = (d.sub(t)?, d.sub(s)?);
            let q = shared::applied(d, &t, &s);
            let l = d.on(&q.ty, |w| {
                let tensor = Arc::new(LinTerm::Tensor(s.p(), w.clone()));
                lin::plus(t.at(tensor), s.at(q.at(w)))
            });
            Dual { term: t.bind(s.bind(q.bind(tuple([q.p(), l])))), ty: q.ty }
        }

        // op(t)                 ⟨a,L⟩ = D(t); y = op(a)
        //   y                                               λ̲w. L • (Dop)ᵗ(a; w)
        Term::Prim(op, ts) => {
            let ts = d.subs(ts)?;
            let a: Vec<Tm> = ts.iter().map(|t| t.p()).collect();
            let y = shared::result(d, *op);
            let ty = y.ty.clone();
            let l = d.on(&ty, |w| d_op_transposed(*op, &a, &var(&y.var), &env, &w, |i, w| ts[i].at(w)));
            let value = Arc::new(Term::Prim(*op, a));
            let result = tuple([var(&y.var), l]);
            Dual { term: bind_all(&ts, let_(y, value, result)), ty }
        }

        // if c then t else s    the branch that the primal takes
        Term::If(c, t, s) => {
            let c = d.primal(c)?;
            let (t, s) = (d.dual(t)?, d.dual(s)?);
            Dual { term: if_(c, t.term, s.term), ty: t.ty }
        }

        // build n (λi. t)       ⟨p,L⟩i = D(t)
        //   build n (λi. pi)                                λ̲w. Σ_{i<n} fst (Li • w[i])
        Term::Build { index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let (i, j) = (d.supply.renew(i), d.supply.renew(i));
            let ty = Type::array(n.clone(), t.ty.clone());
            let l = d.on(&ty, |w| {
                let each = lin::proj(t.at(&j, lin::index(w, var(&j))), 0);
                lin::sum(j, n.clone(), each)
            });
            let p = build(i.clone(), n.clone(), t.p(&i));
            Dual { term: t.bind(tuple([p, l])), ty }
        }

        // t[s]                  ⟨a,L⟩ = D(t); i = s
        //   a[i]                                            λ̲w. L • onehot_i w
        Term::Index(t, s, site) => {
            let t = d.sub(t)?;
            let i = Binder::new(d.supply.fresh("i"), Type::Int);
            let s = d.primal(s)?;
            let (n, ty) = shared::array(&t.ty);
            let l = d.on(&ty, |w| t.at(lin::onehot(n, var(&i.var), w)));
            let p = index(t.p(), var(&i.var), site.clone());
            Dual { term: t.bind(let_(i, s, tuple([p, l]))), ty }
        }

        // {t with [i] = s}      ⟨a,L⟩ = D(t); ⟨b,M⟩ = D(s)
        //   {a with [i] = b}                                λ̲w. L • {w with [i] = 0̲} + M • (w[i])
        Term::Update { array, index, value, site } => {
            let (t, s) = (d.sub(array)?, d.sub(value)?);
            let is = shared::indices(d, index)?;
            let names = shared::names(&is);
            let (whole, zero) = (d.tangent(&t.ty), d.zero(&s.ty));
            let w = LBinder::new(d.supply.fresh("w"), whole.clone());
            let rest = shared::put(d, &whole, lin::var(&w.var), &names, zero);
            let at = names.iter().fold(lin::var(&w.var), |w, i| lin::index(w, i.clone()));
            let l = lin_lam(w, lin::plus(t.at(rest), s.at(at)));
            let p = update(t.p(), names, s.p(), site.clone());
            Dual { term: t.bind(s.bind(shared::let_indices(is, tuple([p, l])))), ty: t.ty.clone() }
        }

        // [t1, …, tk]           ⟨pi,Li⟩ = D(ti)
        //   [p1, …, pk]                                     λ̲w. L1 • w[1] + … + Lk • w[k]
        Term::Array(ty, ts) => {
            let ts = d.subs(ts)?;
            let ty = Type::array(Size::constant(ts.len() as i64), ty.clone());
            let l = d.on(&ty, |w| {
                let each = |i: usize| lin::index(w.clone(), int(i as i64));
                sum(&env, ts.iter().enumerate().map(|(i, t)| t.at(each(i))))
            });
            let p = shared::array_of(d, &ty, &ts);
            Dual { term: bind_all(&ts, tuple([p, l])), ty }
        }

        // Σ_{i<n} t             ⟨p,L⟩i = D(t)
        //   Σ_{i<n} pi                                      λ̲w. Σ_{i<n} fst (Li • w)
        Term::Sum { index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let (i, j) = (d.supply.renew(i), d.supply.renew(i));
            let l = d.on(&Type::Real, |w| {
                let each = lin::proj(t.at(&j, w), 0);
                lin::sum(j, n.clone(), each)
            });
            let p = lang::core::make::sum(i.clone(), n.clone(), t.p(&i));
            Dual { term: t.bind(tuple([p, l])), ty: Type::Real }
        }

        // max_{i<n} t           ⟨p,L⟩i = D(t); m = max pi; c = how many pi are m
        //   m                                               λ̲w. Σ_{i<n} if pi = m then fst (Li • (w/c)) else 0̲
        Term::Extremum { which, index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let m = shared::extremum(d, *which, i, n, &t);
            let i = d.supply.renew(i);
            let l = d.on(&Type::Real, |w| {
                let share = lin::proj(t.at(&i, lin::scale(m.share(), w)), 0);
                let each = lin::if_(m.by(t.p(&i)), share, lin::zero(env));
                lin::sum(i, n.clone(), each)
            });
            Dual { term: t.bind(m.bind(tuple([m.value(), l]))), ty: Type::Real }
        }

        // loop s = t for i < n do e       ⟨p,L⟩ = D(t); ⟨q,M⟩ = D(e) in Γ, s, i
        //   iterate q, keeping each step's M_i              λ̲w. let ⟨s̲, ē⟩ = fst (loop_down z̲ = ⟨w.0, 0̲⟩ for i < n do
        //                                                          let u̲ = fst (M_i • ⟨z̲.0, w.1[i]⟩) in ⟨snd u̲, z̲.1 + fst u̲⟩)
        //                                                        in ē + L • s̲
        Term::Loop { state, init, index: i, bound: n, body } => {
            let t = d.sub(init)?;
            let r = shared::steps(d, state, &t, i, n, body)?;
            let i = d.supply.renew(i);
            let inner = LType::pair(d.tangent(&state.ty), env.clone());
            let z = LBinder::new(d.supply.renew(&state.var), inner.clone());
            let u = d.extended(&state.ty);
            let total = LBinder::new(d.supply.fresh("z"), inner);
            let l = d.on(&r.ty, |w| {
                let (of, at) = (
                    |z: &LBinder, i| lin::proj(lin::var(&z.var), i),
                    lin::index(lin::proj(w.clone(), 1), var(&i)),
                );
                let step = lin::proj(r.at(&i, lin::tuple([of(&z, 0), at])), 0);
                let next = lin::tuple([of(&u, 1), lin::plus(of(&z, 1), of(&u, 0))]);
                let body = lin::let_(u, step, lin::tuple([next, lin::tuple([])]));
                let init = lin::tuple([lin::proj(w, 0), lin::zero(env)]);
                let (direction, bound) = (Direction::Down, n.clone());
                let run =
                    Arc::new(LinTerm::Loop { direction, state: z, init, index: i.clone(), bound, body });
                let result = lin::plus(of(&total, 1), t.at(of(&total, 0)));
                lin::let_(total, lin::proj(run, 0), result)
            });
            Dual { term: t.bind(r.bind(tuple([r.value(d, &i), l]))), ty: r.ty.clone() }
        }

        // loop s = t while c do e         a loop with the trip count that the primal takes, under `let`
        Term::While { state, init, cond, body } => {
            let t = d.sub(init)?;
            let run = shared::counted(d, state, cond, body)?;
            let s = d.under(&[(&run.init.var, &run.init.ty)], |d| d.sub(&run.iterate))?;
            let z = d.extended(&run.init.ty);
            let m = d.on(&s.ty, |w| {
                let into = lin::plus(lin::proj(lin::var(&z.var), 0), t.at(lin::proj(lin::var(&z.var), 1)));
                lin::let_(z, s.at(w), into)
            });
            let result = let_(run.trips, run.count, s.bind(tuple([s.p(), m])));
            Dual { term: t.bind(let_(d.primal_binder(&run.init), t.p(), result)), ty: s.ty }
        }

        // argsort s             p = s
        //   argsort p                                       λ̲w. 0̲, by type
        Term::Argsort(s) => {
            let ty = d.source_type(t);
            let p = Arc::new(Term::Argsort(d.primal(s)?));
            d.constant(p, ty)
        }

        // check c in t          kept around D(t)
        Term::Check { cond, failure, details, site, body } => {
            let cond = d.primal(cond)?;
            let details = details.iter().map(|t| d.primal(t)).collect::<Result<_, _>>()?;
            let Dual { term: body, ty } = d.dual(body)?;
            let (failure, site) = (failure.clone(), site.clone());
            Dual { term: Arc::new(Term::Check { cond, failure, details, site, body }), ty }
        }

        // f t1 … tk             ⟨ai,Li⟩ = D(ti); ⟨q,N⟩ = D(f) a1 … ak
        //   q                                               λ̲w. let z̲ = N • w in L1 • z̲.1 + … + Lk • z̲.k
        Term::Call { def, args, .. } => match shared::constant_call(d, t, def)? {
            Some(constant) => constant,
            None => {
                let ts = d.subs(args)?;
                let q = shared::call(d, t, &ts)?;
                let z = LBinder::new(d.supply.fresh("z"), shared::plain(ts.iter().map(|t| d.tangent(&t.ty))));
                let l = d.on(&q.ty, |w| {
                    let at = |i| shared::plain_proj(lin::var(&z.var), i, ts.len());
                    let result = sum(&env, ts.iter().enumerate().map(|(i, t)| t.at(at(i))));
                    lin::let_(z, q.at(w), result)
                });
                Dual { term: bind_all(&ts, q.bind(tuple([q.p(), l]))), ty: q.ty }
            }
        },

        // a derivative inside: a constant, or resolved before
        Term::Diff { site, .. } => match shared::constant(d, t) {
            Some(constant) => constant,
            None => return Err(AdError { site: site.clone(), ..d.error(Reason::NestedDerivative) }),
        },

        // detach t
        //   p                                               λ̲w. 0̲
        Term::Detach(t) => {
            let ty = d.source_type(t);
            let p = d.primal(t)?;
            d.constant(p, ty)
        }

        // λ̲z. t, t • s, box t: constants, or derivatives not yet erased
        Term::LinLam(..) | Term::LinApp(..) | Term::Box(_) => match shared::constant(d, t) {
            Some(constant) => constant,
            None => return Err(d.error(Reason::NestedDerivative)),
        },

        // unbox h: what is in the box may be active, which a handle does not show
        Term::Unbox(..) => return Err(d.error(Reason::NestedDerivative)),

        // a value nobody reads
        Term::Unread(ty) => d.constant(Arc::new(Term::Unread(ty.primal(d.mode))), ty.clone()),

        // zero[τ]
        //   zero[τ]                                         λ̲w. 0̲
        Term::Zero(_) => {
            let ty = d.source_type(t);
            d.constant(t.clone(), ty)
        }
    })
}
