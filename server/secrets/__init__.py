"""What must not leave the machine: files that hold secrets, and secrets that stand in ordinary files.

`names` says which files hold secrets, by their names and content: they are not indexed, not in prompts, and have no
completions. `redaction` replaces secrets in texts for models behind an address: by the forms of tokens
(`patterns.json`, from gitleaks and detect-secrets), and by the names that values have (`assignments`). Nothing is read
from disk here but the patterns, and nothing is sent.
"""

from .names import is_secret_path, is_secret_text
from .redaction import REDACTED, redact

__all__ = ["REDACTED", "is_secret_path", "is_secret_text", "redact"]
