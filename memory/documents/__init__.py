"""Here is a file: what does it say, section by section?"""
