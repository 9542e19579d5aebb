"""Fit of the token model, the small neural language model of the workspace model, on trees of many languages."""
