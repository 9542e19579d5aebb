"""Readers of Ruby: the facts of syntax nodes, beside the record in `known/`."""
