"""Models in this process: KV-cache slots, prefix cache, speculative decoding, inference engines."""
