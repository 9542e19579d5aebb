"""Readers of Java: the facts of syntax nodes, beside the record in `known/`."""
