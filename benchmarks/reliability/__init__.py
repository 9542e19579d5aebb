"""Reliability campaigns: attacks on a running Weft, with counts of lost, leaked, stale and unanswered items."""
