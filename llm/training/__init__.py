"""Where does a small code model of our own come from? Sources, tokenizer, samples, training, exports, checks.

Owns everything between Python files on this machine and a model directory that any backend reads. Training and
serving share one prompt format: samples are written by `llm/prompting/prompts.py`. `README.md` beside this file says
how to run it.
Needs torch; nothing outside this folder imports it.
"""
