"""Benchmarks of memories: recall, answer quality and cost."""
