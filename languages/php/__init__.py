"""Readers of PHP: the facts of syntax nodes, beside the record in `known/`."""
