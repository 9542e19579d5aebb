"""A trainer is not part of the installed package. It runs from a clone: `python -m` with this name says how."""
