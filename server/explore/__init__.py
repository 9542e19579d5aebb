"""A page to look inside of a workspace: its map, symbols, retrieval at a place, and counters.

Owns what the page may ask (`views.py`), each view as a plain function of a workspace, and the page's files (`page/`).
`serve_explore` in `app.py` serves it on loopback and needs the extra `explore`.
"""
