"""Fit of the candidate scorer of the workspace model on trees of many languages, checked on trees that are held out."""
