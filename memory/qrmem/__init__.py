"""A graph that is made for a question, walked with reflection (QRMeM)."""
