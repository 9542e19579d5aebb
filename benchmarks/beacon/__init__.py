"""Benchmark of a small trained beacon memory on synthetic long texts, against full attention and a sliding window."""
