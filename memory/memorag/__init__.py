"""A memory of the whole text gives clues, and the clues find the places (MemoRAG)."""
