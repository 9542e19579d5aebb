"""One file per language: a file with a tuple `LANGUAGES` of records adds languages."""
