"""One file a language: the tuple `LANGUAGES` of a file here is all that has to be written to add one."""
