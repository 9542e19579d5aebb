"""RepoEval's protocol on pinned archives: tasks, retrieval metrics, lexical baselines.

The judge is independent of what it judges: nothing here but `run` imports Weft's engine.
"""
