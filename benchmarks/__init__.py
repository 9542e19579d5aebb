"""Benchmarks of quality and speed on pinned inputs, each with a command."""
