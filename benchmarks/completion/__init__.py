"""Benchmark of completions: RepoEval's tasks through the same engine that an editor asks.

The judge (tasks, EM, ES) is `benchmarks/repoeval`; what is judged are retrieval, a model, the stop rules and repair
together, with settings that leave parts of it out.
"""
