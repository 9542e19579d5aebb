"""Tools for agents: plain functions on a workspace that return places with a few words each.

Owns what an agent may ask, the limits of an answer, and its text. `tools.py` has the tools and runs one. Knows no
protocol: `server/mcp/` and `server/lsp/requests/call_tool.py` translate.
"""
