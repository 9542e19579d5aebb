"""What would a model change in the lines around the cursor? The request, the check of its answer, and minimal edits.

`service` asks a model of the workspace and keeps its answers. Knows no protocol, no prompt format and no other kind of
next edit.
"""
