"""Which model is behind an address, and what does it say? One file a protocol; `endpoint` is the wire below all."""
