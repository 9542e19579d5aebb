"""Seeded generators of data: stories, dialogues, a book, and completion tasks of a checkout.

Each writes a form that an adapter reads. What is made here is called so: none of it is an official set.
"""
