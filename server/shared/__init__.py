"""Sharing of one server process and one index between the editor windows of a user."""
