"""Benchmark of the server's latency while real edits are typed again over LSP."""
