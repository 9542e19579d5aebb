"""Analyses of other builders: parts are exported, begun from, and built on a cluster.

Owns the format of an export, what is taken from one, and the check of what is taken. `server/workspace/` has the format
of a part and the store of this user.
"""
