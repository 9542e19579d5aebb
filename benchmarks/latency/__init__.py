"""How fast is the server while somebody types? Real edits typed again into the real server, over its own protocol."""
