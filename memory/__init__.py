"""What was said or read before, and what of it matters now? Empty so far: chats and documents come next."""
