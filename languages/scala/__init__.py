"""Readers of Scala: the facts of syntax nodes, beside the record in `known/`."""
