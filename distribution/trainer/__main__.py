"""The command of a trainer in an installation from a wheel: says how to run it from a clone."""

import sys

from weft.llm.installation import clone_command

COMMAND = f"python -m {__package__}"

if __name__ == "__main__":
    steps = clone_command(f".venv/bin/{COMMAND}", "train")
    print(f"weft: `{COMMAND}` is not part of the installed package and runs from a clone: {steps}", file=sys.stderr)
    sys.exit(2)
