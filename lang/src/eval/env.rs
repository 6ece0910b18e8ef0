//! Environments: the values of the variables in scope, persistent, so that a function captures one by copying a pointer.

use super::value::{LinValue, Value};
use crate::core::Binder;
use crate::name::{Name, Var};
use crate::size::Size;
use crate::types::Type;
use crate::walk::{Mapper, map_type};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone)]
pub struct Env<N> {
    vars: im::HashMap<Var, (Type, Value<N>)>,
    lins: im::HashMap<Var, LinValue<N>>,
    /// The type parameters of the definition being evaluated, as types without variables.
    types: Arc<HashMap<Name, Type>>,
}

impl<N: Clone> Env<N> {
    pub fn new(types: HashMap<Name, Type>) -> Env<N> {
        Env { vars: im::HashMap::new(), lins: im::HashMap::new(), types: Arc::new(types) }
    }

    pub fn bind(&mut self, x: &Binder, v: Value<N>) {
        self.vars.insert(x.var.clone(), (x.ty.clone(), v));
    }
    pub fn bind_int(&mut self, i: &Var, k: i64) {
        self.vars.insert(i.clone(), (Type::Int, Value::Int(k)));
    }
    pub fn bind_lin(&mut self, z: &Var, v: LinValue<N>) {
        self.lins.insert(z.clone(), v);
    }
    pub fn with(&self, x: &Binder, v: Value<N>) -> Env<N> {
        let mut env = self.clone();
        env.bind(x, v);
        env
    }
    pub fn with_lin(&self, z: &Var, v: LinValue<N>) -> Env<N> {
        let mut env = self.clone();
        env.bind_lin(z, v);
        env
    }
    /// Without linear variables: what a linear λ closes over, and what the bodies of eliminations see.
    pub fn cartesian(&self) -> Env<N> {
        Env { vars: self.vars.clone(), lins: im::HashMap::new(), types: self.types.clone() }
    }

    pub fn get(&self, x: &Var) -> Option<&Value<N>> {
        self.vars.get(x).map(|(_, v)| v)
    }
    pub fn type_of(&self, x: &Var) -> Option<&Type> {
        self.vars.get(x).map(|(t, _)| t)
    }
    pub fn get_lin(&self, z: &Var) -> Option<&LinValue<N>> {
        self.lins.get(z)
    }

    /// The value of a size; None when it leaves 64 bits or a variable has no int value.
    pub fn size(&self, n: &Size) -> Option<i64> {
        n.eval(&|x| match self.get(x) {
            Some(Value::Int(k)) => Some(*k),
            _ => None,
        })
    }

    /// A mapper that makes types independent of the environment: sizes become numbers, type parameters their instances.
    pub fn close(&self) -> Close<'_, N> {
        Close { env: self }
    }
}

pub struct Close<'e, N> {
    env: &'e Env<N>,
}

impl<N: Clone> Mapper for Close<'_, N> {
    fn size(&mut self, n: &Size) -> Size {
        self.env.size(n).map_or_else(|| n.clone(), Size::constant)
    }
    fn ty(&mut self, t: &Type) -> Type {
        match t {
            Type::Param(a) => self.env.types.get(a).cloned().unwrap_or_else(|| t.clone()),
            _ => map_type(self, t),
        }
    }
    fn lty(&mut self, t: &crate::types::LType) -> crate::types::LType {
        use crate::types::{LType, Mode};
        match t {
            // The instance is first-order, so D is the same in both modes.
            LType::Param(a) => match self.env.types.get(a) {
                Some(instance) => instance.tangent(Mode::Forward),
                None => t.clone(),
            },
            _ => crate::walk::map_ltype(self, t),
        }
    }
}
