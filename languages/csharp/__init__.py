"""Readers of C#: the facts of syntax nodes, beside the record in `known/`."""
