"""Readers of C and C++: the facts of syntax nodes, beside the record in `known/`."""
