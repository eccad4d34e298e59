//! Sans-IO protocol core.
