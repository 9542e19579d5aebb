"""Training of the beacon memory (activation beacon): MemoRAG's two stages.

Start with `stages`; `python -m weft.memory.memorag.beacon.training` runs them. Only `data`, `dataset` and `recipe` work
without torch. Nothing outside this folder imports it.
"""
