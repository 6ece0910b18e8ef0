//! What D rejects, with a place. Nothing that cannot be differentiated is answered with 0.

use lang::diag::Site;
use lang::name::Name;
use std::fmt;

/// The operator or definition being differentiated, and why it has no derivative.
#[derive(Clone, PartialEq, Debug)]
pub struct AdError {
    /// The place nearest to what was rejected; a whole definition has the empty span at its start.
    pub site: Site,
    pub reason: Reason,
    /// The definitions through which D came there, outermost first.
    pub chain: Vec<Name>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Reason {
    /// A derivative operator, or a linear map it gave, that depends on the variables of differentiation.
    NestedDerivative,
    /// A function from outside that is not known here, so neither is its derivative.
    UnknownFunction(Name),
    /// The operand of a differentiation operator is no λ.
    OperandUnknown,
    /// The operand's argument or result contains functions.
    NotFirstOrder,
    /// A call of a definition that the program lacks.
    UnknownDefinition(Name),
    /// Transposition of a linear term of this form.
    NoTranspose(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NestedDerivative => {
                write!(f, "a derivative of a derivative is not part of this version yet")
            }
            Reason::UnknownFunction(x) => {
                write!(f, "the function `{x}` is not known here, so neither is its derivative")
            }
            Reason::OperandUnknown => write!(f, "the function to differentiate is not known here"),
            Reason::NotFirstOrder => {
                write!(f, "the function to differentiate takes or returns functions")
            }
            Reason::UnknownDefinition(x) => write!(f, "there is no definition `{x}`"),
            Reason::NoTranspose(what) => write!(f, "{what} has no transpose here"),
        }
    }
}

impl fmt::Display for AdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        for name in self.chain.iter().rev() {
            write!(f, ", in `{}`", lang::name::source(name))?;
        }
        Ok(())
    }
}
impl std::error::Error for AdError {}
