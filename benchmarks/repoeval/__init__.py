"""RepoEval's protocol on archives that anyone can download: tasks, retrieval metrics, lexical peers.

The judge is independent of what it judges: nothing here but `run` imports Weft's engine.
"""
