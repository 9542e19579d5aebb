"""The small workspace of the tests of `weft explore`: code, a document, a secret, and what is not indexed."""

from __future__ import annotations

from pathlib import Path

SECRET = "ghp_" + "Zx81kQpL0vNd7WmT3sYcR5uHbJ2fGaE9iKo4"

FILES = {
    "shop/price.py": "RATE = 2\n\n\ndef total(items):\n    return sum(items) * RATE\n",
    "shop/basket.py": (
        "from shop.price import total\n\n\nclass Basket:\n    def __init__(self, items):\n"
        "        self.items = items\n\n    def pay(self):\n        return total(self.items)\n\n"
        "    def pay_twice(self):\n        return self.pay() + self.pay()\n"
    ),
    "app/main.py": "from shop.basket import Basket\n\n\ndef run(items):\n    return Basket(items).pay_twice()\n",
    "app/keys.py": f'KEY = "{SECRET}"\n',
    "odd\u202ename.py": "x = 1\n",
    "README.md": "# Shop\n\nMary Jones wrote the Basket. Mary Jones lives in Leiden, and Peter Smith pays.\n",
    ".gitignore": "build/\nnotes.txt\n",
    "build/made.py": "def made(): ...\n",
    "notes.txt": "mine\n",
    ".env": "PASSWORD=1\n",
}


def write_shop(root: Path) -> None:
    """Write the files below a folder, and a link that leads out of it."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "away").symlink_to(root.parent, target_is_directory=True)
