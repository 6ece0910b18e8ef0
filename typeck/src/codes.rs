//! The table of error codes of this crate: one row each. E02xx names, E03xx types, E04xx sizes, E05xx linearity, E06xx differentiation.

/// A code and what it is about.
pub struct Code {
    pub code: &'static str,
    pub title: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        $(#[doc = $title] pub const $name: &str = $code;)*
        /// Every code this crate reports.
        pub const ALL: &[Code] = &[$(Code { code: $code, title: $title }),*];
    };
}

codes! {
    UNKNOWN_NAME = "E0201", "a name that is not in scope";
    UNKNOWN_TYPE = "E0202", "a type name or type variable that is not in scope";
    UNKNOWN_SIZE = "E0203", "a size name that is not in scope";
    DUPLICATE = "E0204", "the same name defined twice";
    NOT_REC = "E0205", "a definition that refers to itself without `rec`";
    REC_RESULT = "E0206", "a recursive definition without a result type";
    UNKNOWN_FIELD = "E0207", "a record field that does not exist";
    TYPE_ARGUMENTS = "E0208", "type or size arguments that do not fit the parameters";
    CYCLIC_ALIAS = "E0209", "a type that refers to itself";
    UNKNOWN_MODULE = "E0210", "a module that is not there";
    IMPORT_CYCLE = "E0211", "a file that imports itself";
    IMPORT_PATH = "E0212", "an import that does not name a file of the project";
    UNKNOWN_MEMBER = "E0213", "a name that a module does not have";
    IMPORT_CLASH = "E0214", "a name that comes from two places";
    MISMATCH = "E0301", "an expression whose type is not the one required";
    NOT_A_FUNCTION = "E0302", "something applied that is no function";
    OPERANDS = "E0303", "operands an operator does not take";
    UNKNOWN_SHAPE = "E0304", "a projection or field of something whose type is not known";
    INFINITE = "E0305", "a type that would contain itself";
    NO_COMPONENT = "E0306", "a projection that the tuple does not have";
    NOT_AN_ARRAY = "E0307", "an index into something that is no array";
    ELEMENT = "E0308", "an array of functions";
    EQUALITY = "E0309", "`==` on functions";
    TOO_DEEP = "E0310", "an expression nested too deeply";
    UNSUPPORTED = "E0311", "a construct that this version does not have";
    TYPE_TOO_LARGE = "E0313", "a type too large to work with";
    PATTERN = "E0312", "a pattern that cannot be used here";
    INEXHAUSTIVE = "E0314", "a match that leaves out a value";
    UNREACHABLE_ARM = "E0315", "an arm of a match that no value reaches";
    TOO_MANY_ARGUMENTS = "E0316", "more arguments than a function takes";
    MISSING_ARGUMENT = "E0317", "a function where its value is required";
    CONVERSION = "E0318", "an int where a real is required, or a real where an int is";
    TUPLED_ARGUMENTS = "E0319", "the arguments of a function in one tuple";
    NEGATIVE_INDEX = "E0320", "an index or the end of a slice below zero";
    SIZE_MISMATCH = "E0401", "two sizes that differ";
    SHAPE_MISMATCH = "E0402", "operands of different shapes";
    UNSOLVED_SIZE = "E0403", "a size that nothing determines";
    SIZE_ESCAPES = "E0404", "a size that leaves its scope";
    NEGATIVE_SIZE = "E0405", "a size below zero";
    SIZE_OVERFLOW = "E0406", "a size that is too large";
    EXISTENTIAL_ESCAPES = "E0407", "a size known only inside that leaves its scope";
    EXISTENTIAL_PLACE = "E0408", "an existential size where none can be";
    CARTESIAN_USE = "E0501", "a linear variable in a Cartesian position";
    NOT_LINEAR = "E0502", "a term that is not linear";
    LINEAR_PRODUCT = "E0503", "a product of two linear terms";
    NOT_A_LINEAR_TYPE = "E0504", "a type that is not linear";
    LINEAR_SCOPE = "E0505", "a linear variable that this body does not see";
    CONSTANT = "E0506", "a constant where a linear term must stand";
    NO_LINEAR_RULE = "E0507", "a construct that the linear language does not have";
    NOT_A_LINEAR_MAP = "E0508", "a function applied to a linear term";
    GRAD_OF_NON_REAL = "E0601", "the gradient of something that is not a real";
    NOT_FIRST_ORDER = "E0602", "a derivative of a function whose argument or result contains functions";
    NO_TANGENT = "E0603", "a tangent type of something that has none";
}
