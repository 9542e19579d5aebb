"""How fast does a model answer while somebody types? Cold and warm, with drafts and without, against its peers."""
