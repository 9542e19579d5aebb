"""Training of the beacon memory (activation beacon): MemoRAG's two stages.

Start with `stages`; `python -m weft.memory.memorag.beacon.training` runs them. Needs torch, but for `data`, `texts` and
`recipe`; nothing outside this folder imports it.
"""
