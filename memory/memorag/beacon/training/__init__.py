"""How does a model learn to keep a long text in a fraction of its keys and values? MemoRAG's two stages.

Start with `stages`; `python -m weft.memory.memorag.beacon.training` runs them. Needs torch, but for `data`, `texts` and
`recipe`; nothing outside this folder imports it.
"""
