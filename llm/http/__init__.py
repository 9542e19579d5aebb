"""Models behind an HTTP server: one file a protocol, above the HTTP client in `endpoint`."""
