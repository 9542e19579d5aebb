"""RepoCoder's function bodies: a model writes a body, and the repository's own tests decide, in a sandbox.

Tasks are built from pinned releases whose tests run offline. The benchmark runs tests only with `--run-tests`, only
on these releases and only in a sandbox that has proved itself.
"""
