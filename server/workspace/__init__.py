"""What is in this workspace, and what changed: files, ignore rules, folders, snapshots, open buffers, recent edits."""
