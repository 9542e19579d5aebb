"""Benchmark of next edits: whether what is offered after an edit is what the author of a commit changed next."""
