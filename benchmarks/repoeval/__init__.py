"""RepoEval's protocol on pinned archives: tasks, retrieval metrics, lexical baselines.

Tasks are drawn from Python, TypeScript and Go. Tasks, labels and metrics are independent of the retrieval under test:
only `weft_strategies` imports Weft's engine.
"""
