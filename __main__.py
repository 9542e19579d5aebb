"""`python -m weft` is `weft`."""

from .server.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
