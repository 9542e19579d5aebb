"""Records the pictures of next edits in Neovim: a real Neovim in tmux, as SVG files beside this script.

    python docs/pictures/next_edits.py [FOLDER]

Needs tmux and the packages of `make test`. `neovim-next-edit.svg` has an edit at its place, `neovim-follow-ups.svg` the
list of all files. With FOLDER these go there, and also an explanation, a hint, and all of them in light colours.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from record import COLUMNS, FONTS, HEIGHT, MARGIN, ROOT, WIDTH, draw_row, plain, terminal

OUT = ROOT / "docs" / "pictures"
OF_THE_DOCUMENTS = ("next-edit", "follow-ups")
LOOKS = {"dark": ("#e0e2ea", "#14161b"), "light": ("#14161b", "#e0e2ea")}  # of Neovim: foreground, background

INIT = """\
vim.opt.runtimepath:prepend({plugin})
vim.o.background = 'BACKGROUND'
vim.o.termguicolors = true
vim.o.swapfile = false
vim.o.shada = ''
vim.o.number = true
vim.o.showcmd = false
vim.o.ruler = false
vim.o.laststatus = 0
require('weft').setup {{ cmd = {{ {python}, '-m', 'weft', 'serve' }}, pages = {{ window = 'split', size = 15 }} }}
vim.keymap.set('n', '<Tab>', require('weft').next_edit)
"""

PROJECT = {
    "till.py": """\
from dataclasses import dataclass


@dataclass
class Receipt:
    number: int
    total: int


class Till:
    def __init__(self):
        self.receipts = []

    def pay(self, amount):
        receipt = Receipt(len(self.receipts), amount)
        self.receipts.append(receipt)
        return receipt

    def tip(self):
        return self.pay(2)
""",
    "shop.py": """\
from till import Till


def checkout(till: Till, basket):
    return till.pay(sum(basket))


def deposit(till: Till, amount):
    receipt = till.pay(amount)
    return receipt.number
""",
    "test_till.py": """\
from till import Till


def test_a_receipt_has_a_number():
    assert Till().pay(5).number == 0
""",
}


def main(folder: Path | None) -> None:
    for look in ("dark", "light") if folder else ("dark",):
        with tempfile.TemporaryDirectory() as work:
            for name, rows in screens(Path(work), look):
                if folder is None and name not in OF_THE_DOCUMENTS:
                    continue
                suffix = "" if look == "dark" else f"-{look}"
                path = (folder or OUT) / f"neovim-{name}{suffix}.svg"
                path.write_text(draw(rows, look), "utf-8")
                print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


def screens(work: Path, look: str) -> list[tuple[str, list[str]]]:
    """The screens of a session: a method is renamed; all edits are listed, one is explained, one is made."""
    project = work / "shop"
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_text(text, "utf-8")
    found = []
    with terminal(work, project, INIT.replace("BACKGROUND", look), "till.py", n_rows=30) as recording:
        recording.wait(lambda text: "class Till" in text)
        recording.keys("-l", ":lua vim.wait(60000, function() return require('weft').status():match('ready') end)")
        recording.keys("Enter")
        recording.keys("-l", "/def pay")
        recording.keys("Enter", "w", "c", "w")
        recording.keys("-l", "charge")
        recording.keys("Escape")
        recording.keys("-l", ":nohlsearch | echo ''")
        recording.keys("Enter")
        recording.wait(lambda text: "self.paycharge(2)" in text)
        found.append(("next-edit", crop(recording.screen())))
        recording.keys("-l", ":Weft follow-ups")
        recording.keys("Enter")
        recording.wait(lambda text: "test_till.py:5" in text)
        found.append(("follow-ups", crop(recording.screen())))
        recording.keys("-l", "K")
        recording.wait(lambda text: "Confidence" in text)
        found.append(("why-edit", crop(recording.screen())))
        recording.keys("Escape", "q")
        recording.wait(lambda text: "self.paycharge(2)" in text)
        recording.keys("Tab", "Tab")
        recording.wait(lambda text: "→ shop.py:5" in text)
        found.append(("hint", crop(recording.screen())))
    return found


def crop(rows: list[str]) -> list[str]:
    """The rows without the empty ones at the end."""
    while rows and (plain(rows[-1:]).strip() in ("", "~") or plain(rows[-1:]).startswith(":")):
        rows = rows[:-1]
    return rows


def draw(rows: list[str], look: str) -> str:
    foreground, background = LOOKS[look]
    width, height = 2 * MARGIN + COLUMNS * WIDTH, 2 * MARGIN + len(rows) * HEIGHT
    body = "\n".join(draw_row(row, content, foreground, background) for row, content in enumerate(rows) if content)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">
<title>Next edits in Neovim</title>
<style>svg {{ font: 14px {FONTS}; fill: {foreground}; white-space: pre }}</style>
<rect width="100%" height="100%" rx="8" fill="{background}"/>
{body}
</svg>
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
