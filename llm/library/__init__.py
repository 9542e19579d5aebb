"""Models on disk: discovery, a catalogue, downloads, GGUF headers, release archives."""
