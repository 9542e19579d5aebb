"""Tokens that an agent reads to find what must change: tools for agents against grep."""
