"""Readers of Rust: the facts of syntax nodes, beside the record in `known/`."""
