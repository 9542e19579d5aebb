"""Readers of TypeScript and JavaScript: the facts of syntax nodes, beside the record in `known/`."""
