"""RepoEval's protocol on pinned archives: tasks, retrieval metrics, lexical baselines.

Tasks are drawn from the languages of `task_languages`. Tasks, labels and metrics are independent of the retrieval under
test: only `weft_strategies` imports Weft's engine.
"""
