"""Request handlers: one module for each LSP message or group of messages."""
