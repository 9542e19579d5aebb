"""`python -m weft.benchmarks.functions`, which is `weft bench functions`."""

from .run import main

raise SystemExit(main())
