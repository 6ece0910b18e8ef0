//! typeck
