"""Here is a question about the repository: what answers it, and on which lines does it stand?"""
