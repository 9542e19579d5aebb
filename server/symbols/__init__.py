"""Which occurrences of a name in the workspace mean one definition, member or value.

Owns symbols and their occurrences. Knows no question, no edit and no protocol.
"""
