"""What the papers compare with: whole texts, top hits, rewritten questions, memos."""
