"""RepoEval's protocol on pinned archives: tasks, retrieval metrics, lexical baselines.

Tasks and metrics are independent of the retrieval under test: only `weft_strategies` imports Weft's engine.
"""
