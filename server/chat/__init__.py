"""Answer questions about the repository from its code, documents and history, with checked citations."""
