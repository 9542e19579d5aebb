"""Benchmark of completions: RepoEval's tasks through the same engine that an editor uses.

Tasks, EM and ES are those of `benchmarks/repoeval`. The benchmark measures retrieval, a model, stop rules and repair
together, with settings that leave out parts.
"""
