"""`python -m weft.benchmarks.repoeval`."""

from .run import main

raise SystemExit(main())
