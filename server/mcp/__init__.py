"""The tools for agents over the Model Context Protocol: stdio, and streamable HTTP on loopback.

`serve_stdio` and `serve_http` run a server for one `Backend`. Needs the extra `mcp`; the only package that imports the
MCP library.
"""

from .serve import serve_http, serve_stdio

__all__ = ["serve_http", "serve_stdio"]
