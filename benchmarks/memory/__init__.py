"""Do memories find what answers a question, and what does that cost?"""
