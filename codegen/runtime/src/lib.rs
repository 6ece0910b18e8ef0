//! codegen/runtime
