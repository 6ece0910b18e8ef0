//! D→, chad.md §4 and §6: Γ ⊢ t : τ becomes ⟨p, L⟩ : D→(τ)_1 * (D→(Γ)_2 ⊸ D→(τ)_2).
//!
//! Letters as there: p is the value; L, M, N linear maps; v a tangent. Each arm is its rule, unsimplified.

use crate::context::{D, Dual, bind_all};
use crate::error::{AdError, Reason};
use crate::prim::{d_op, sum};
use crate::shared;
use lang::core::make::{build, if_, index, int, lam, let_, proj, tuple, update, var};
use lang::core::{Binder, Term, Tm};
use lang::size::Size;
use lang::target::{Direction, LBinder, LinTerm, make as lin};
use lang::types::Type;
use std::sync::Arc;

pub(crate) fn forward(d: &mut D, t: &Tm) -> Result<Dual, AdError> {
    Ok(match &**t {
        // x
        //   p = x                                           λ̲v. proj_x v
        Term::Var(x) => {
            let ty = d.scope.vars[x].clone();
            match d.slot(x) {
                Some(up) => {
                    let l = d.on_env(|v| lin::env_proj(up, v));
                    Dual { term: tuple([t.clone(), l]), ty }
                }
                None => shared::outer_variable(d, x, ty)?,
            }
        }

        // literal
        //   p = literal                                     λ̲v. 0̲
        Term::Lit(lit) => {
            let ty = shared::lit_type(*lit);
            d.constant(t.clone(), ty)
        }

        // let x = t in s        ⟨p,L⟩ = D(t); ⟨q,M⟩ = D(s) with x := p
        //   q                                               λ̲v. M • ⟨v, L • v⟩
        Term::Let(x, t, s) => {
            d.bound_to(x, t);
            let t = d.sub(t)?;
            let s = d.under(&[(&x.var, &x.ty)], |d| d.sub(s))?;
            let m = d.on_env(|v| s.at(lin::tuple([v.clone(), t.at(v)])));
            let result = s.bind(tuple([s.p(), m]));
            Dual { term: t.bind(let_(d.primal_binder(x), t.p(), result)), ty: s.ty }
        }

        // ⟨t1, …, tk⟩           ⟨pi,Li⟩ = D(ti)
        //   ⟨p1, …, pk⟩                                     λ̲v. ⟨L1 • v, …, Lk • v⟩
        Term::Tuple(ts) => {
            let ts = d.subs(ts)?;
            let l = d.on_env(|v| lin::tuple(ts.iter().map(|t| t.at(&v))));
            let p = tuple(ts.iter().map(|t| t.p()));
            Dual { term: bind_all(&ts, tuple([p, l])), ty: Type::tuple(ts.iter().map(|t| t.ty.clone())) }
        }

        // t.i                   ⟨p,L⟩ = D(t)
        //   p.i                                             λ̲v. (L • v).i
        Term::Proj(t, i) => {
            let t = d.sub(t)?;
            let l = d.on_env(|v| lin::proj(t.at(v), *i));
            Dual { term: t.bind(tuple([proj(t.p(), *i), l])), ty: shared::component(&t.ty, *i) }
        }

        // in_i t                ⟨p,L⟩ = D(t)
        //   in_i p                                          λ̲v. in_i (L • v)
        Term::Inject(i, ty, t) => {
            let t = d.sub(t)?;
            let sum = d.tangent(ty);
            let l = d.on_env(|v| Arc::new(LinTerm::Inject(*i, sum, t.at(v))));
            let p = Arc::new(Term::Inject(*i, ty.primal(d.mode), t.p()));
            Dual { term: t.bind(tuple([p, l])), ty: ty.clone() }
        }

        // case t of {in_i x → s_i}        ⟨p,L⟩ = D(t); in the branch that p takes, ⟨q,M⟩ = D(s_i)
        //   q                                               λ̲v. M • ⟨v, fromIn_i (L • v)⟩
        Term::Case(t, arms) => {
            let t = d.sub(t)?;
            let mut ty = None;
            let mut duals = vec![];
            for (i, (x, s)) in arms.iter().enumerate() {
                let s = d.under(&[(&x.var, &x.ty)], |d| d.sub(s))?;
                let payload = |v| Arc::new(LinTerm::FromInject(i, t.at(v)));
                let m = d.on_env(|v| s.at(lin::tuple([v.clone(), payload(v)])));
                duals.push((d.primal_binder(x), s.bind(tuple([s.p(), m]))));
                ty.get_or_insert(s.ty);
            }
            let ty = ty.unwrap_or_else(Type::unit);
            Dual { term: t.bind(Arc::new(Term::Case(t.p(), duals))), ty }
        }

        // λx. t                 f = λx. D(t)
        //   λx. let ⟨q,M⟩ = f x in ⟨q, λ̲v. M • ⟨0̲, v⟩⟩      λ̲v. λx. snd(f x) • ⟨v, 0̲⟩
        Term::Lam(x, t) => {
            let f = shared::function(d, x, t)?;
            let (x1, x2) = (f.argument(d), f.argument(d));
            let q = f.call(d, &x1);
            let (zero_env, zero, tangent) = (d.zero_env(), d.zero(&x.ty), d.tangent(&x.ty));
            let m = d.lambda("v", tangent, |v| q.at(lin::tuple([zero_env, v])));
            let p = lam(x1, q.bind(tuple([q.p(), m])));
            let l = d.on_env(|v| Arc::new(LinTerm::Power(x2.clone(), f.at(&x2, lin::tuple([v, zero])))));
            let ty = Type::fun(x.ty.clone(), f.ty.clone());
            Dual { term: f.bind(tuple([p, l])), ty }
        }

        // t s                   ⟨f,L⟩ = D(t); ⟨a,M⟩ = D(s); ⟨q,N⟩ = f a
        //   q                                               λ̲v. (L • v) a + N • (M • v)
        Term::App(t, s) => {
            let (t, s) = (d.sub(t)?, d.sub(s)?);
            let q = shared::applied(d, &t, &s);
            let l = d.on_env(|v| {
                let along = Arc::new(LinTerm::PowerApp(t.at(&v), s.p()));
                lin::plus(along, q.at(s.at(v)))
            });
            Dual { term: t.bind(s.bind(q.bind(tuple([q.p(), l])))), ty: q.ty }
        }

        // op(t)                 ⟨a,L⟩ = D(t); y = op(a)
        //   y                                               λ̲v. Dop(a; L • v)
        Term::Prim(op, ts) => {
            let ts = d.subs(ts)?;
            let a: Vec<Tm> = ts.iter().map(|t| t.p()).collect();
            let y = shared::result(d, *op);
            let of = d.tangent(&y.ty);
            let l = d.on_env(|v| d_op(*op, &a, &var(&y.var), &of, |i| ts[i].at(&v)));
            let ty = y.ty.clone();
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
        //   build n (λi. pi)                                λ̲v. build n (λi. Li • ⟨v, ⟨⟩⟩)
        Term::Build { index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let (i, j) = (d.supply.renew(i), d.supply.renew(i));
            let l = d.on_env(|v| lin::build(j.clone(), n.clone(), t.at(&j, lin::tuple([v, lin::tuple([])]))));
            let p = build(i.clone(), n.clone(), t.p(&i));
            Dual { term: t.bind(tuple([p, l])), ty: Type::array(n.clone(), t.ty.clone()) }
        }

        // t[s]                  ⟨a,L⟩ = D(t); i = s
        //   a[i]                                            λ̲v. (L • v)[i]
        Term::Index(t, s, site) => {
            let t = d.sub(t)?;
            let i = Binder::new(d.supply.fresh("i"), Type::Int);
            let s = d.primal(s)?;
            let l = d.on_env(|v| lin::index(t.at(v), var(&i.var)));
            let p = index(t.p(), var(&i.var), site.clone());
            let (_, ty) = shared::array(&t.ty);
            Dual { term: t.bind(let_(i, s, tuple([p, l]))), ty }
        }

        // {t with [i] = s}      ⟨a,L⟩ = D(t); ⟨b,M⟩ = D(s)
        //   {a with [i] = b}                                λ̲v. {L • v with [i] = M • v}
        Term::Update { array, index, value, site } => {
            let (t, s) = (d.sub(array)?, d.sub(value)?);
            let is = shared::indices(d, index)?;
            let l = d.env();
            let (whole, part) = (d.tangent(&t.ty), d.tangent(&s.ty));
            let z = LBinder::new(d.supply.fresh("z"), whole.clone());
            let u = LBinder::new(d.supply.fresh("u"), part);
            let put = shared::put(d, &whole, lin::var(&z.var), &shared::names(&is), lin::var(&u.var));
            let l = d.lambda("v", l, |v| lin::let_(z, t.at(v.clone()), lin::let_(u, s.at(v), put)));
            let p = update(t.p(), shared::names(&is), s.p(), site.clone());
            Dual { term: t.bind(s.bind(shared::let_indices(is, tuple([p, l])))), ty: t.ty.clone() }
        }

        // [t1, …, tk]           ⟨pi,Li⟩ = D(ti)
        //   [p1, …, pk]                                     λ̲v. Σi onehot_i (Li • v)
        Term::Array(ty, ts) => {
            let ts = d.subs(ts)?;
            let k = Size::constant(ts.len() as i64);
            let ty = Type::array(k.clone(), ty.clone());
            let of = d.tangent(&ty);
            let onehot = |i: usize, t| lin::onehot(k.clone(), int(i as i64), t);
            let l = d.on_env(|v| sum(&of, ts.iter().enumerate().map(|(i, t)| onehot(i, t.at(&v)))));
            let p = shared::array_of(d, &ty, &ts);
            Dual { term: bind_all(&ts, tuple([p, l])), ty }
        }

        // Σ_{i<n} t             ⟨p,L⟩i = D(t)
        //   Σ_{i<n} pi                                      λ̲v. Σ_{i<n} Li • ⟨v, ⟨⟩⟩
        Term::Sum { index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let (i, j) = (d.supply.renew(i), d.supply.renew(i));
            let l = d.on_env(|v| lin::sum(j.clone(), n.clone(), t.at(&j, lin::tuple([v, lin::tuple([])]))));
            let p = lang::core::make::sum(i.clone(), n.clone(), t.p(&i));
            Dual { term: t.bind(tuple([p, l])), ty: Type::Real }
        }

        // max_{i<n} t           ⟨p,L⟩i = D(t); m = max pi; c = how many pi are m
        //   m                                               λ̲v. Σ_{i<n} if pi = m then (Li • ⟨v, ⟨⟩⟩) / c else 0̲
        Term::Extremum { which, index: i, bound: n, body } => {
            let t = d.family(i, n, body)?;
            let m = shared::extremum(d, *which, i, n, &t);
            let i = d.supply.renew(i);
            let zero = d.zero(&Type::Real);
            let l = d.on_env(|v| {
                let share = lin::scale(m.share(), t.at(&i, lin::tuple([v, lin::tuple([])])));
                lin::sum(i.clone(), n.clone(), lin::if_(m.by(t.p(&i)), share, zero))
            });
            Dual { term: t.bind(m.bind(tuple([m.value(), l]))), ty: Type::Real }
        }

        // loop s = t for i < n do e       ⟨p,L⟩ = D(t); ⟨q,M⟩ = D(e) in Γ, s, i
        //   iterate q, keeping each step's M_i              λ̲v. loop_up z̲ = L • v for i < n do M_i • ⟨v, z̲, ⟨⟩⟩
        Term::Loop { state, init, index: i, bound: n, body } => {
            let t = d.sub(init)?;
            let r = shared::steps(d, state, &t, i, n, body)?;
            let j = d.supply.renew(i);
            let z = LBinder::new(d.supply.renew(&state.var), d.tangent(&state.ty));
            let l = d.on_env(|v| {
                let inner = lin::tuple([lin::tuple([v.clone(), lin::var(&z.var)]), lin::tuple([])]);
                let body = r.at(&j, inner);
                let (init, index, bound) = (t.at(v), j.clone(), n.clone());
                Arc::new(LinTerm::Loop { direction: Direction::Up, state: z, init, index, bound, body })
            });
            Dual { term: t.bind(r.bind(tuple([r.value(d, i), l]))), ty: r.ty.clone() }
        }

        // loop s = t while c do e         a loop with the trip count that the primal takes
        Term::While { state, init, cond, body } => {
            let t = d.sub(init)?;
            let run = shared::counted(d, state, cond, body)?;
            let s = d.under(&[(&run.init.var, &run.init.ty)], |d| d.sub(&run.iterate))?;
            let m = d.on_env(|v| s.at(lin::tuple([v.clone(), t.at(v)])));
            let result = let_(run.trips, run.count, s.bind(tuple([s.p(), m])));
            Dual { term: t.bind(let_(d.primal_binder(&run.init), t.p(), result)), ty: s.ty }
        }

        // argsort s             p = s
        //   argsort p                                       λ̲v. 0̲, by type
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
        //   q                                               λ̲v. N • ⟨L1 • v, …, Lk • v⟩
        Term::Call { def, args, .. } => match shared::constant_call(d, t, def)? {
            Some(constant) => constant,
            None => {
                let ts = d.subs(args)?;
                let q = shared::call(d, t, &ts)?;
                let l = d.on_env(|v| q.at(shared::plain_tuple(ts.iter().map(|t| t.at(&v)))));
                Dual { term: bind_all(&ts, q.bind(tuple([q.p(), l]))), ty: q.ty }
            }
        },

        // a derivative inside: a constant, or resolved before
        Term::Diff { site, .. } => match shared::constant(d, t) {
            Some(constant) => constant,
            None => return Err(AdError { site: site.clone(), ..d.error(Reason::NestedDerivative) }),
        },

        // detach t
        //   p                                               λ̲v. 0̲
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
        //   zero[τ]                                         λ̲v. 0̲
        Term::Zero(_) => {
            let ty = d.source_type(t);
            d.constant(t.clone(), ty)
        }
    })
}
