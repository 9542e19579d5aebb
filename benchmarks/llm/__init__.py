"""Benchmark of model backends: first text, speculative decoding, against `generate()` and llama-server."""
