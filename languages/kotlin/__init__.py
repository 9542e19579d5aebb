"""Readers of Kotlin: the facts of syntax nodes, beside the record in `known/`."""
