"""How fast is the engine, and against what? Cold and warm start, queries, edits, memory, on pinned trees."""
