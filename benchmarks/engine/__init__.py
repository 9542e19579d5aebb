"""Benchmark of the index: cold and warm start, queries, edits, memory, on pinned trees, and peers."""
