"""Reliability campaigns: attacks on a running Weft, with counts of what was lost, leaked, stale or unanswered."""
