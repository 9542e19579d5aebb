"""Attacks on a running Weft, counted: what was sent, and what was lost, leaked, stale or unanswered."""
