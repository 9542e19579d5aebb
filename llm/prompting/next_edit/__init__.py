"""How is a model asked for the next edit? Prompts of known next-edit models and of chat models, and their answers.

Owns the formats, one file each, how a format is found, and what fits into a prompt. Knows no server, no tokenizer but
a counting function, and no editor.
"""
