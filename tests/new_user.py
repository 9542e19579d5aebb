"""A person with an empty home and nothing but the built wheel: pipx or uv installs it there, and the commands run.

`make test-installed` names the wheel in WEFT_WHEEL. Needs the package index; knows no editor.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from repository import ROOT

PYTHON = Path(sys.executable).resolve()
NETWORK = re.compile(r"(PIP|UV|SSL|REQUESTS|CURL|npm)_|(https?|no)_proxy", re.IGNORECASE)
INSTALL = {
    "pipx": ["pipx", "install"],
    "uv": ["uv", "tool", "install"],
}
ENVIRONMENTS = {"pipx": ".local/share/pipx/venvs/weft-lsp", "uv": ".local/share/uv/tools/weft-lsp"}

# A project of another author in two languages; the last lines are half-typed.
PROJECT = {
    "books.py": """\
class Book:
    def __init__(self, isbn: str, title: str) -> None:
        self.isbn = isbn
        self.title = title
        self.is_lent = False


class Catalogue:
    def __init__(self) -> None:
        self._books: dict[str, Book] = {}

    def add_book(self, book: Book) -> None:
        self._books[book.isbn] = book

    def find_book(self, isbn: str) -> Book:
        if isbn not in self._books:
            raise KeyError(isbn)
        return self._books[isbn]
""",
    "members.py": """\
class Member:
    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.debt_cents = 0


class Register:
    def __init__(self) -> None:
        self._members: dict[int, Member] = {}

    def add_member(self, member: Member) -> None:
        self._members[member.number] = member

    def find_member(self, number: int) -> Member:
        if number not in self._members:
            raise KeyError(number)
        return self._members[number]
""",
    "loans.py": '''\
from books import Catalogue
from members import Register

FINE_CENTS = 20


def fine_for(days_late: int) -> int:
    """What a member owes for a late book."""
    return max(0, days_late) * FINE_CENTS


class LoanDesk:
    def __init__(self, catalogue: Catalogue, register: Register) -> None:
        self.catalogue = catalogue
        self.register = register

    def lend(self, isbn: str, number: int) -> None:
        book = self.catalogue.find_book(isbn)
        member = self.register.find_member(number)
        if member.debt_cents > 0:
            raise ValueError(f"{member.name} owes {member.debt_cents}")
        book.is_lent = True

    def take_back(self, isbn: str, number: int, days_late: int) -> None:
        book = self.catalogue.find_book(isbn)
        member = self.register.find_member(number)
        member.debt_cents += fine_for(days_late)
        book.is_lent = False

    def replace(self, isbn: str, number: int, price_cents: int) -> None:
        book = self.catalogue.find_book(isbn)
        member = self.register.find_member(number)
        member.debt_cents += price_cents
        book.is_lent = False

    def renew(self, isbn: str, number: int) -> None:
''',
    "web/client.ts": """\
export interface Loan {
  isbn: string;
  daysLeft: number;
}

export class LoanClient {
  constructor(private readonly address: string) {}

  async fetchLoans(memberNumber: number): Promise<Loan[]> {
    const response = await fetch(`${this.address}/members/${memberNumber}/loans`);
    return (await response.json()) as Loan[];
  }
}
""",
    "web/loanPage.ts": """\
import { LoanClient } from "./client";

export class LoanPage {
  constructor(private readonly client: LoanClient) {}

  async showLoans(memberNumber: number): Promise<string> {
    const loans = await this.client.fetchLoans(memberNumber);
    return loans.map((loan) => `${loan.isbn}: ${loan.daysLeft} days`).join("\\n");
  }
}
""",
}
FILE = "loans.py"
BEGUN = "        book = self."
REST = "catalogue.find_book(isbn)"
QUESTION = "What does a member owe for a late book?"
ANSWER = "in loans.py:7: what a member owes for a late book."


class NewUser:
    """An empty home in `folder` with pipx and uv on the PATH, and a project under git."""

    def __init__(self, folder: Path, wheel: Path, marks: dict[str, str]) -> None:
        self.home = folder / "home"
        self.project = self.home / "library"
        self.wheel = self.home / wheel.name
        tools = folder / "tools"
        subprocess.run([PYTHON, "-m", "venv", tools], check=True)
        pip = [str(tools / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "pipx", "uv"]
        subprocess.run(pip, check=True, capture_output=True)
        path = (self.home / ".local" / "bin", tools / "bin", PYTHON.parent, "/usr/local/bin", "/usr/bin", "/bin")
        self.environment = {name: value for name, value in os.environ.items() if NETWORK.match(name)} | marks
        self.environment |= {"HOME": str(self.home), "PATH": os.pathsep.join(map(str, path)), "LANG": "C.UTF-8"}
        self.environment |= {"PIPX_DEFAULT_PYTHON": str(PYTHON), "UV_PYTHON": str(PYTHON), "TERM": "xterm-256color"}
        for name, text in PROJECT.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text, "utf-8")
        shutil.copy(wheel, self.wheel)
        self.run("git", "init", "--quiet", ".")

    def install(self, tool: str) -> Path:
        """Installs the wheel with pipx or uv by the line of docs/install.md; the environment that this made."""
        (line,) = (line for line in documented("docs/install.md") if line.startswith(" ".join(INSTALL[tool]) + " "))
        assert self.wheel.name in line
        self.run("sh", "-c", line, cwd=self.home)
        return self.home / ENVIRONMENTS[tool]

    def run(self, *words: str | Path, cwd: Path | None = None, status: int = 0) -> str:
        """The output of a command in the project; fails for another exit status."""
        done = subprocess.run(
            list(map(str, words)), cwd=cwd or self.project, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def documented(page: str) -> list[str]:
    """The commands that a page shows behind `$`, without comments."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    return [line[2:].partition("  #")[0].strip() for line in lines if line.startswith("$ ")]


def lua_blocks(page: str) -> list[str]:
    """The Lua code of a page, in its order."""
    return re.findall(r"^```lua\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
