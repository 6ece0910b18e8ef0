//! The arguments of a run-time call, taken apart: what the callee is specialised to (types, the code of functions), and what it is given
//! when it is called (sizes, data). The callee's own view of them is put together again from its parameters.

use super::Normaliser;
use super::value::{Env, FnClosure, V};
use crate::Error;
use lang::core::{Binder, Tm};
use lang::name::Var;
use lang::size::Size;
use lang::types::Type;
use lang::walk::{self, Mapper, map_type};
use std::rc::Rc;

/// What a definition is specialised to in one argument: sizes in it are numbers of the call's sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// First-order data of a type, given when the program runs.
    Data(Type),
    /// An int that a function captures: it may be a size in the function's body.
    Size(usize),
    Tuple(Vec<Shape>),
    /// λx. t and the variables that it captures.
    Fn(Binder, Tm, Vec<(Var, Shape)>),
    /// One of two, by a bool given when the program runs.
    Choice(Box<Shape>, Box<Shape>),
}

/// Takes arguments apart.
pub struct Abstraction<'n, 'p> {
    n: &'n Normaliser<'p>,
    /// The sizes of the definition, and what else types and functions mention.
    own: &'n [Size],
    pub sizes: Vec<Size>,
    /// The data given.
    pub data: Vec<V>,
}

impl<'n, 'p> Abstraction<'n, 'p> {
    pub fn new(n: &'n Normaliser<'p>, own: &'n [Size]) -> Abstraction<'n, 'p> {
        Abstraction { n, own, sizes: vec![], data: vec![] }
    }

    fn number(&mut self, n: &Size) -> usize {
        let known = self.own.iter().chain(&self.sizes).position(|m| m == n);
        known.unwrap_or_else(|| {
            self.sizes.push(n.clone());
            self.own.len() + self.sizes.len() - 1
        })
    }

    /// The type with its sizes numbered.
    pub fn ty(&mut self, t: &Type) -> Type {
        struct Numbered<'a, 'n, 'p>(&'a mut Abstraction<'n, 'p>);
        impl Mapper for Numbered<'_, '_, '_> {
            fn size(&mut self, n: &Size) -> Size {
                number_var(self.0.number(n))
            }
        }
        Numbered(self).ty(t)
    }

    /// The shape of a value; where its parameter's type is known to be data, that type.
    pub fn shape(&mut self, v: &V, declared: Option<&Type>) -> Result<Shape, Error> {
        if let Some(ty) = declared {
            if !v.is_data() {
                return Err(Error::function_survives());
            }
            self.data.push(v.clone());
            // Its sizes are the definition's own.
            return Ok(Shape::Data(ty.clone()));
        }
        Ok(match v {
            V::Int(n) => Shape::Size(self.number(n)),
            V::Atom(_, ty) => {
                self.data.push(v.clone());
                Shape::Data(self.ty(ty))
            }
            V::Tuple(vs) => Shape::Tuple(vs.iter().map(|v| self.shape(v, None)).collect::<Result<_, _>>()?),
            V::Fn(f) => {
                let mut captured = vec![];
                let mut free = walk::free_vars(&f.body);
                free.extend(lang::walk::type_vars(&f.param.ty));
                free.remove(&f.param.var);
                for x in free {
                    let v = match f.env.vars.get(&x) {
                        Some(v) => v.clone(),
                        None => {
                            let ty = self.n.types.get(&x);
                            let ty = ty.ok_or_else(|| Error::bug(format!("{x:?} is not in scope")))?;
                            V::of_var(&x, ty)
                        }
                    };
                    let shape = self.shape(&v, None)?;
                    captured.push((x, shape));
                }
                Shape::Fn(f.param.clone(), f.body.clone(), captured)
            }
            V::Choice(c, a, b) => {
                self.data.push(V::Atom(c.clone(), Type::Bool));
                Shape::Choice(Box::new(self.shape(a, None)?), Box::new(self.shape(b, None)?))
            }
            V::Lin(_) => {
                return Err(Error::unsupported("a linear map as an argument of a recursive definition"));
            }
            V::Family(_) => {
                return Err(Error::unsupported(
                    "an array of functions as an argument of a recursive definition",
                ));
            }
        })
    }
}

fn number_var(k: usize) -> Size {
    Size::var(Var { name: "size".into(), id: k as u32 })
}

/// Puts arguments together from parameters, the ints first that stand for the numbered sizes.
pub struct Rebuild<'n, 'p, 's> {
    n: &'n mut Normaliser<'p>,
    /// By number: the definition's, then the others.
    sizes: Vec<&'s Var>,
    pub params: Vec<Binder>,
    /// Their values.
    pub given: Vec<V>,
}

impl<'n, 'p, 's> Rebuild<'n, 'p, 's> {
    pub fn new(n: &'n mut Normaliser<'p>, own: &'s [Var], sizes: &'s [Var]) -> Rebuild<'n, 'p, 's> {
        let params = sizes.iter().map(|k| Binder::new(k.clone(), Type::Int)).collect();
        let given = sizes.iter().map(|k| V::Int(Size::var(k.clone()))).collect();
        Rebuild { n, sizes: own.iter().chain(sizes).collect(), params, given }
    }

    /// The type with numbers replaced by the definition's sizes.
    fn ty(&self, t: &Type) -> Type {
        struct Named<'a>(&'a [&'a Var]);
        impl Mapper for Named<'_> {
            fn size(&mut self, n: &Size) -> Size {
                match n.as_var() {
                    Some(v) => Size::var(self.0[v.id as usize].clone()),
                    None => unreachable!("compiler bug: sizes are numbers here"),
                }
            }
            fn ty(&mut self, t: &Type) -> Type {
                map_type(self, t)
            }
        }
        Named(&self.sizes).ty(t)
    }

    /// A type argument.
    pub fn instance(&self, s: &Shape) -> Type {
        match s {
            Shape::Data(t) => self.ty(t),
            Shape::Size(_) | Shape::Tuple(_) | Shape::Fn(..) | Shape::Choice(..) => {
                unreachable!("compiler bug: a type argument is data")
            }
        }
    }

    fn param(&mut self, ty: Type, name: &str) -> V {
        let x = self.n.var(name, &ty);
        self.params.push(Binder::new(x.clone(), ty.clone()));
        let v = self.n.taken_apart(&x, &ty);
        self.given.push(v.clone());
        v
    }

    /// A parameter that is data by its declaration.
    pub fn declared(&mut self, ty: &Type, env: &Env, name: &str) -> Result<V, Error> {
        let ty = self.n.ty(ty, env)?;
        Ok(self.param(ty, name))
    }

    /// A value of a captured shape.
    pub fn value(&mut self, s: &Shape, name: &str) -> V {
        match s {
            Shape::Data(t) => {
                let ty = self.ty(t);
                self.param(ty, name)
            }
            Shape::Size(k) => V::Int(Size::var(self.sizes[*k].clone())),
            Shape::Tuple(ss) => V::tuple(ss.iter().map(|s| self.value(s, name)).collect::<Vec<_>>()),
            Shape::Fn(x, body, captured) => {
                let mut env = Env::default();
                for (y, s) in captured {
                    let v = self.value(s, &y.name);
                    env.vars.insert(y.clone(), v);
                }
                V::Fn(Rc::new(FnClosure { param: x.clone(), body: body.clone(), env }))
            }
            Shape::Choice(a, b) => {
                let c = self.param(Type::Bool, "c");
                let c = c.reify().expect("a bool is data");
                let (a, b) = (self.value(a, name), self.value(b, name));
                V::Choice(c, Rc::new(a), Rc::new(b))
            }
        }
    }
}
