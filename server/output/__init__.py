"""How is a result written for an editor, a terminal or a script? Types, JSON values, pages, and safe text."""
