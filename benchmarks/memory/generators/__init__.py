"""Seeded generators of data: stories, dialogues and a book.

Each writes a form that an adapter reads. Names in tables mark the data as generated: none is an official data set.
"""
