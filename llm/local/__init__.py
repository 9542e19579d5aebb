"""How does a model in this process write? KV cache, prefix cache, speculative decoding, and engines below them."""
