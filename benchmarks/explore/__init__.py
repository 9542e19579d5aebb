"""Benchmark of the page of `weft explore` in a real browser: from an input to the paint that shows its answer."""
