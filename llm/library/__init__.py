"""Which models are on this machine, which are worth fetching, and what does a model's file say of it?"""
