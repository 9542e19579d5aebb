"""What was said and read, on disk: one SQLite file for a workspace."""
