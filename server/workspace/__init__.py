"""Workspace index: file discovery, ignore rules, folder snapshots, open buffers, recent edits, file watching."""
