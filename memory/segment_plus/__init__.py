"""Notes of every segment, filtered and merged (Segment+)."""
