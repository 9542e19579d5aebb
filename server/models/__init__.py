"""Which models complete, chat and embed; are they available, how long may prompts be, and what may they be sent?"""
