"""How is a request laid out for a model? Fill-in-the-middle formats, prompts, chat templates, infilling by chat."""
