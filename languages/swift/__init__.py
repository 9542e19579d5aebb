"""Readers of Swift: the facts of syntax nodes, beside the record in `known/`."""
