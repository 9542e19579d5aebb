"""Readers of Go: the facts of syntax nodes, beside the record in `known/`."""
