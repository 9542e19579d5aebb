"""`python -m weft.benchmarks.repoeval`, which is `weft bench retrieval`."""

from .run import main

raise SystemExit(main())
