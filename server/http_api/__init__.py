"""Completions over HTTP, for clients that take the address of a model: OpenAI's, Ollama's, llama.cpp's and Mistral's.

`serve_http` runs the server. Needs the extra `http`.
"""

from .serve import serve_http

__all__ = ["serve_http"]
