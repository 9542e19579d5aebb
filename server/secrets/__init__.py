"""Does this file, or this line, hold a secret? Secret files are excluded; secrets in other files are redacted.

`names` detects secret files by name and content: they are not indexed, not part of prompts, and have no completions.
`redaction` replaces secrets in texts for models behind an address: tokens of known formats (`patterns.json`, from
gitleaks and detect-secrets), and values of secret-like names (`assignments`). Reads nothing but the patterns from disk.
"""

from .names import is_secret_path, is_secret_text
from .redaction import REDACTED, redact

__all__ = ["REDACTED", "is_secret_path", "is_secret_text", "redact"]
