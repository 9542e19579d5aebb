"""How does a result look in an editor, a terminal or a script? Types, JSON values, pages, and safe text."""
