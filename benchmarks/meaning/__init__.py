"""The static word vectors of `weft search` and `weft ask`: fitted on documented functions, measured on others."""
