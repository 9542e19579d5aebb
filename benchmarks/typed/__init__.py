"""Benchmark of typed commits: characters saved, and what is shown meanwhile."""
