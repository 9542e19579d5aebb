"""Training of a small code model: sources, tokenizer, samples, the training loop of all trainers, exports, checks.

Owns everything between Python files on this machine and a model directory that any backend reads. Training and
serving share one prompt format: samples are written by `llm/prompting/prompts.py`. `README.md` beside this file says
how to run it.
Needs torch; outside this folder only the trainer of the beacon memory and benchmarks import it.
"""
