"""Training of a small code model: sources, tokenizer, samples, the training loop of all trainers, exports, checks.

Owns the steps from Python files on this machine to a model directory for any backend. Training and serving share one
prompt format: `llm/prompting/prompts.py` builds the samples. `README.md` beside this file describes the commands.
Needs torch; outside this folder only the trainer of the beacon memory and benchmarks import it.
"""
