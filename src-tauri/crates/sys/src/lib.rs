//! Kernel boundary.
