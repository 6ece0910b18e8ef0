//! Why a program cannot be compiled, where the reason is the program's.

use lang::diag::Site;
use lang::name::Name;
use lang::precision::Precision;

#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub kind: ErrorKind,
    pub site: Option<Site>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// A function value whose code is not known after specialisation.
    FunctionSurvives,
    /// A construct this stage has no rule for yet; the text names it.
    Unsupported(String),
    /// A differentiation operator whose function does not map first-order data to first-order data.
    NotFirstOrder,
    /// What cannot be differentiated, and why (from `ad`).
    NotDifferentiable(String),
    /// Calls that are applied when the program is compiled nest deeper than the limit.
    TooDeep(Name, usize),
    /// A recursive definition calls itself with one function after another, so many of them inside each other.
    Grows(Name, usize),
    /// Recursive definitions are called with more different functions and types than this.
    Specialisations(Name, usize),
    /// The program grows beyond this many operations when its calls are applied.
    TooLarge(usize),
    /// So many functions are applied when the program is compiled.
    TooManyApplications(usize),
    /// A numeral that is infinite in the precision of the program.
    NumeralTooLarge(f64, Precision),
    /// A broken invariant.
    Bug(String),
}

impl Error {
    pub fn of(kind: ErrorKind) -> Error {
        Error { kind, site: None }
    }
    pub fn function_survives() -> Error {
        Error::of(ErrorKind::FunctionSurvives)
    }
    pub fn unsupported(what: impl Into<String>) -> Error {
        Error::of(ErrorKind::Unsupported(what.into()))
    }
    pub fn not_first_order(site: Site) -> Error {
        Error { kind: ErrorKind::NotFirstOrder, site: Some(site) }
    }
    pub fn too_deep(def: &Name, limit: usize) -> Error {
        Error { kind: ErrorKind::TooDeep(def.clone(), limit), site: Some(start(def)) }
    }
    pub fn grows(def: &Name, limit: usize) -> Error {
        Error { kind: ErrorKind::Grows(def.clone(), limit), site: Some(start(def)) }
    }
    pub fn specialisations(def: &Name, limit: usize) -> Error {
        Error { kind: ErrorKind::Specialisations(def.clone(), limit), site: Some(start(def)) }
    }
    pub fn inside_itself(def: &Name, site: Site) -> Error {
        let why = format!(
            "`{def}` is differentiated inside its own definition, where its derivative is not known yet"
        );
        Error { kind: ErrorKind::NotDifferentiable(why), site: Some(site) }
    }
    pub fn too_large(limit: usize) -> Error {
        Error::of(ErrorKind::TooLarge(limit))
    }
    pub fn too_many_applications(limit: usize) -> Error {
        Error::of(ErrorKind::TooManyApplications(limit))
    }
    pub fn numeral_too_large(x: f64, precision: Precision) -> Error {
        Error::of(ErrorKind::NumeralTooLarge(x, precision))
    }
    pub fn bug(what: impl Into<String>) -> Error {
        Error::of(ErrorKind::Bug(what.into()))
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            ErrorKind::FunctionSurvives => {
                write!(f, "a function value is not known when the program is compiled")
            }
            ErrorKind::Unsupported(what) => write!(f, "not supported yet: {what}"),
            ErrorKind::NotFirstOrder => {
                write!(f, "the function to differentiate must map data to data, without functions")
            }
            ErrorKind::NotDifferentiable(why) => write!(f, "{why}"),
            ErrorKind::TooDeep(def, limit) => {
                write!(
                    f,
                    "calls nest more than {limit} deep where `{def}` is applied when the program is compiled"
                )
            }
            ErrorKind::Grows(def, limit) => {
                write!(
                    f,
                    "`{def}` calls itself with one function after another, each of which would have to be compiled, and more than {limit} inside each other: "
                )?;
                write!(f, "a function argument that grows with each call has no end")
            }
            ErrorKind::Specialisations(def, limit) => {
                write!(f, "recursive definitions are called with more than {limit} different functions, ")?;
                write!(f, "for each of which one would have to be compiled; the last was `{def}`")
            }
            ErrorKind::TooLarge(limit) => {
                write!(f, "the program has more than {limit} operations once its calls are applied")
            }
            ErrorKind::TooManyApplications(limit) => {
                write!(f, "the program applies more than {limit} functions when it is compiled")
            }
            ErrorKind::NumeralTooLarge(x, precision) => {
                write!(f, "`{x:?}` is too large for a real of {precision} precision")
            }
            ErrorKind::Bug(what) => write!(f, "compiler bug: {what}"),
        }
    }
}

/// Where a definition begins.
fn start(def: &Name) -> Site {
    Site { def: def.clone(), span: Default::default() }
}
