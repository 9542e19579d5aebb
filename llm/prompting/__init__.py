"""Prompts: fill-in-the-middle formats, repository-level prompts, chat templates, infilling by chat."""
