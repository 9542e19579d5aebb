"""Claims with a command: what Weft says of its speed and quality is measured here, on pinned inputs."""
