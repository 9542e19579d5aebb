"""Readers of Lua: the facts of syntax nodes, beside the record in `known/`."""
