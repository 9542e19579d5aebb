"""`python -m weft.benchmarks.completion`, which is `weft bench completion`."""

from .run import main

if __name__ == "__main__":  # Worker processes import this module again.
    raise SystemExit(main())
