"""`weft bench memory questions`: recall of the lines that answer questions about sixteen repositories.

The questions in `questions/` were written from the sources, before the search was built or changed: where is something
decided, what calls it, what is it, how does one location reach another, which file documents it; the same without the
code's words, in six human languages, with typos, and as follow-ups in a conversation; some have no answer in these
repositories. Each names spans of lines of a pinned archive or commit. A question can need several spans, and a span can
have alternatives. What is fitted is fitted on the repositories for fitting; figures are of those for reporting.

An evidence item finds a span when they share a line. An item of more than `LONGEST_EXHIBIT_LINES` lines finds nothing,
because it does not locate the answer.

    weft bench memory questions --work DIR
"""

from __future__ import annotations

import argparse
import email
import json
import statistics
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...languages import language_of
from ...llm.backends import ModelConfig
from ...retrieval import RepositoryIndex
from ...retrieval.terms import count_terms
from ...server.chat.values import Citation, EvidenceItem, EvidenceSet
from ...server.config import ChatOptions, Config, IndexOptions, MemoryOptions
from ...server.workspace.workspace import Workspace
from ..bootstrap import percentile
from ..command import Report, command_parser, run_command
from ..repoeval.archives import PINNED, Archive, Commit, checkout_commit, download, unpack
from ..tables import markdown

LONGEST_EXHIBIT_LINES = 60
DEPTHS = (1, 3, 5, 10)
SUFFIXES = (".py", ".md", ".rst", ".txt", ".toml", ".cfg")

_HERE = Path(__file__).with_name("questions")

FITTING, REPORTING = "fitting", "reporting"

_GITHUB = """
fitting pallets/flask 2ac89889f4cc330eabd50f295dcef02828522c69
fitting simonw/sqlite-utils 56dd09702fdb9e899f577ffd51693c1f2176cb08
fitting ianstormtaylor/slate 2b7d9b0bd0118e7ce9b9adeac748de8a3bbe390c
fitting colinhacks/zod e516c3baf22615e20934116abebfed6c000222c2
fitting caddyserver/caddy 0cf03d32f7d99cf160d5375e8a40fbe3d910d515
fitting go-chi/chi 735ae2b87f8c733d616e809ae86e0985c1bc3350
fitting casey/just 4f41f609278edb6f1024e3dd7a9912946e1e7bc3
fitting jhy/jsoup 46b620860af930eedc193a705eaf7cea5aec89a6
reporting encode/uvicorn e6c7ce791fc634b6eedee40e0d0207faa8a9aefd
reporting TanStack/query 40321a0b1b3bdd0afa11f0e439642ab84cdf6afe
reporting charmbracelet/bubbletea 73b6d91ac1c3854dd4af046ab5f9e51d3b3b4290
reporting sharkdp/bat 2ba8db9c14e5794572f5ea338c2b90404c9769cb
reporting mockito/mockito ee8a330da0218f32d5964acdeaa3ac39e2c6ce14
"""


@dataclass(frozen=True, slots=True)
class QuestionTree:
    """A repository that questions are asked about, and whether anything was fitted on them."""

    source: Archive | Commit
    purpose: str = REPORTING


def _trees() -> Iterator[tuple[str, QuestionTree]]:
    yield "diffusers", QuestionTree(PINNED["huggingface_diffusers"])
    yield "nerfstudio", QuestionTree(PINNED["nerfstudio-project_nerfstudio"])
    yield "scrapy", QuestionTree(PINNED["scrapy"])
    for line in _GITHUB.strip().splitlines():
        purpose, name, sha = line.split()
        repository = name.rpartition("/")[2]
        yield repository, QuestionTree(Commit(repository, f"https://github.com/{name}", sha, "", "report"), purpose)


REPOSITORIES = dict(_trees())

GROUPS = {
    "plain": ("decision", "callers", "callees", "definition", "documentation", "path"),
    "paraphrase": ("paraphrase",),
    "follow-up": ("follow-up",),
    "other languages": ("german", "french", "spanish", "chinese", "japanese", "korean"),
    "typo": ("typo",),
}
"""The kinds of questions, by what they have in common."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines that answer a question: 1-based, end inclusive. The first of them contains `says`."""

    path: str
    first: int
    last: int
    says: str = ""
    longest: int = LONGEST_EXHIBIT_LINES

    def is_found_by(self, path: str, start_line: int, end_line: int) -> bool:
        """Whether lines `start_line` (0-based) to before `end_line` overlap the span, and are not too many."""
        is_short = end_line - start_line <= self.longest
        return is_short and path == self.path and start_line < self.last and end_line >= self.first


@dataclass(frozen=True, slots=True)
class RepositoryQuestion:
    """A question with the spans that it needs, each with its alternatives; none when nothing answers it."""

    id: str
    kind: str
    text: str
    gold: tuple[tuple[Span, ...], ...]
    before: tuple[str, ...] = ()  # earlier questions of the conversation


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """The scores of one question; shares are of its spans, `rank` is that of the first item with one, 0 for none."""

    id: str
    kind: str
    rank: int
    recall: dict[int, float]  # by depth
    confidence: float
    says_not_found: bool
    n_citations: int
    n_valid: int  # citations whose lines exist and hold the quote
    n_right: int  # citations that find a span
    milliseconds: float
    level: str = ""  # "sure", "perhaps" or "not found"


def load(repository: str) -> list[RepositoryQuestion]:
    """The questions about a repository."""
    lines = (_HERE / f"{repository}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_question(json.loads(line)) for line in lines]


def checkout(repository: str, work: Path) -> Path:
    """The repository's files in `work`. Raises ArchiveError as the other benchmarks do."""
    archive = REPOSITORIES[repository].source
    if isinstance(archive, Commit):
        return checkout_commit(archive, work)
    tree = work / "questions" / repository
    if not tree.is_dir():
        unpack(archive, work, tree, SUFFIXES)
        if archive.is_wheel:
            _write_readme(download(archive, work / "downloads"), tree)
    return tree


def misplaced(questions: Iterable[RepositoryQuestion], tree: Path) -> list[str]:
    """Spans whose text is not at its lines; none in the pinned archives."""
    wrong = []
    for question in questions:
        for span in (span for alternatives in question.gold for span in alternatives):
            lines = (tree / span.path).read_text(encoding="utf-8").splitlines()
            if not (0 < span.first <= span.last <= len(lines)) or span.says not in lines[span.first - 1]:
                wrong.append(f"{question.id}: {span.path}:{span.first}")
    return wrong


def score(
    question: RepositoryQuestion, evidence: EvidenceSet, citations: Sequence[Citation], texts: Callable[[str], str]
) -> QuestionScore:
    """A row of the table. `texts` gives a file's text; `citations` are those of the reply, [] for "not found"."""
    found = [
        [any(span.is_found_by(e.path, e.start_line, e.end_line) for span in spans) for e in evidence.items]
        for spans in question.gold
    ]
    at = [i + 1 for i in range(len(evidence.items)) if any(row[i] for row in found)]
    recall = {k: statistics.fmean(any(row[:k]) for row in found) if found else 0.0 for k in DEPTHS}
    spans = [span for alternatives in question.gold for span in alternatives]
    return QuestionScore(
        question.id,
        question.kind,
        at[0] if at else 0,
        recall,
        evidence.confidence,
        False,
        len(citations),
        sum(_holds(citation, texts) for citation in citations),
        sum(any(span.is_found_by(c.path, c.start_line, c.end_line) for span in spans) for c in citations),
        sum(evidence.timings_ms.values()),
    )


def words_alone(index: RepositoryIndex, question: str) -> EvidenceSet:
    """The baseline: plain BM25 over windows of 20 lines with the words of the question."""
    scores = index.lexical.bm25(count_terms(question))
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[: max(DEPTHS)]
    items = []
    for fragment in (i for i in best if scores[i] > 0):
        place = index.location(fragment)
        kind = "code" if language_of(place.path).grammar else "document"
        text = index.text(place)
        items.append(EvidenceItem(kind, place.path, place.start_line, place.end_line, text, float(scores[fragment])))  # type: ignore[arg-type]
    return EvidenceSet(question, tuple(items))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory questions", __doc__, "work", "machine", "html")
    parser.add_argument("--purpose", choices=(FITTING, REPORTING), default=REPORTING, help="of the repositories")
    parser.add_argument("--repository", choices=REPOSITORIES, action="append", help="default: all of the purpose")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="write a JSON line for every question")
    add_embeddings(parser)
    return run_command(parser, _measure, arguments)


def add_embeddings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embeddings",
        action="store_true",
        help="embed all definitions with the installed model; it takes minutes a repository, once",
    )


@contextmanager
def opened(tree: Path, options: argparse.Namespace) -> Iterator[Workspace]:
    """The indexed workspace of a tree, with embedded definitions if the options say so; vectors stay in `--work`."""
    config = _CONFIG
    if options.embeddings:
        memory = MemoryOptions(embeddings="bundled", keep_conversations=False)
        config = replace(
            config,
            chat=ChatOptions(embed_code=True),
            index=IndexOptions(keep_on_disk=False),
            memory=memory,
            data_dir=str(options.work / "embeddings"),
        )
    with Workspace([tree], config, cache=options.embeddings) as workspace:
        workspace.index()
        workspace.embed()
        if workspace.encoder is not None and workspace.encoder.problem:
            raise UserError(workspace.encoder.problem)
        yield workspace


def _measure(options: argparse.Namespace) -> Report:
    rows: dict[str, list[QuestionScore]] = {"words alone": [], "weft": []}
    for repository in options.repository or [n for n, of in REPOSITORIES.items() if of.purpose == options.purpose]:
        tree, questions = checkout(repository, options.work), load(repository)
        if wrong := misplaced(questions, tree):
            raise UserError(f"{tree} is not the pinned archive: {wrong[0]}. Remove the folder and run again.")
        with opened(tree, options) as workspace:
            (index,) = workspace.indexes().values()
            ask(workspace, replace(questions[0], before=()), tree)  # the first question also reads the lexicons
            for question in questions:
                rows["words alone"].append(score(question, words_alone(index, question.text), [], str))
                rows["weft"].append(ask(workspace, question, tree))
    if options.rows is not None:
        options.rows.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows["weft"]), encoding="utf-8")
    model = "an embedding model alone" if options.embeddings else "no model"
    title = f"Lines that answer {len(rows['weft'])} questions about repositories; {model}"
    return Report(
        "memory questions",
        table(rows),
        {"what": title, "embeddings": options.embeddings, "results": {name: _summary(of) for name, of in rows.items()}},
        title,
    )


def table(rows: dict[str, list[QuestionScore]]) -> str:
    """Markdown: recall of the spans by depth, and what the reply cites."""
    head = ["", "questions", *(f"recall@{k}" for k in DEPTHS), "first item right", "MRR"]
    lines = []
    for name, all_rows in rows.items():
        answerable = [row for row in all_rows if row.kind != "unanswerable"]
        kinds = dict.fromkeys(row.kind for row in answerable)
        for group, members in {"": tuple(kinds), **GROUPS, **{kind: (kind,) for kind in kinds}}.items():
            some = [row for row in answerable if row.kind in members]
            if some:
                lines.append(_cells(f"{name}{', ' + group if group else ''}", some))
    asked = rows["weft"]
    answerable = [row for row in asked if row.kind != "unanswerable"]
    others = [row for row in asked if row.kind == "unanswerable"]
    shown = [row for row in answerable if not row.says_not_found]
    n_citations = sum(row.n_citations for row in shown)
    times = [row.milliseconds for row in asked]
    levels = {level: [row for row in asked if row.level == level] for level in ("sure", "perhaps")}
    right = {level: sum(row.recall[3] > 0 for row in of) for level, of in levels.items()}
    said = [
        f"- Citations in the answers to answerable questions: {n_citations}. In "
        f"{_percent(sum(row.n_valid for row in shown), n_citations)} the lines exist and contain what is cited; "
        f"{_percent(sum(row.n_right for row in shown), n_citations)} are in an expected span.",
        f"- Answers that cite an expected span: {_percent(sum(row.n_right > 0 for row in shown), len(answerable))}.",
        f"- “Not found” for unanswerable questions ({len(others)}): "
        f"{_percent(sum(row.says_not_found for row in others), len(others))}; "
        f"for answerable questions ({len(answerable)}): {_percent(len(answerable) - len(shown), len(answerable))}.",
        "- Answers with an expected span among the first three items: "
        + "; ".join(f"“{level}” {_percent(right[level], len(of))} of {len(of)}" for level, of in levels.items())
        + ".",
        f"- Milliseconds for an answer, p50 / p95: {percentile(times, 0.5):.0f} / {percentile(times, 0.95):.0f}.",
    ]
    return "\n".join((markdown(head, lines), "", *said))


def ask(workspace: Workspace, question: RepositoryQuestion, tree: Path) -> QuestionScore:
    """The score of the answer without a model, after the earlier questions of the conversation."""
    conversation = ""
    for before in question.before:
        conversation = workspace.ask(before, conversation).conversation_id
    started = time.perf_counter()
    reply = workspace.ask(question.text, conversation, remember=bool(question.before))
    milliseconds = 1e3 * (time.perf_counter() - started)
    row = score(question, reply.evidence, reply.citations, lambda path: (tree / path).read_text("utf-8", "replace"))
    return replace(row, says_not_found=not reply.found, milliseconds=milliseconds, level=reply.level)


_CONFIG = Config(model=(ModelConfig(backend="none"),))


def _holds(citation: Citation, texts: Callable[[str], str]) -> bool:
    try:
        lines = texts(citation.path).splitlines()
    except OSError:
        return False
    cited = "\n".join(lines[citation.start_line : citation.end_line])
    return citation.end_line <= len(lines) and citation.text.strip("\n") in cited


def _cells(name: str, rows: Sequence[QuestionScore]) -> list[str]:
    recall = (f"{100 * statistics.fmean(row.recall[k] for row in rows):.1f}" for k in DEPTHS)
    first = _percent(sum(row.rank == 1 for row in rows), len(rows))
    reciprocal = statistics.fmean(1 / row.rank if row.rank else 0.0 for row in rows)
    return [name, str(len(rows)), *recall, first, f"{reciprocal:.2f}"]


def _summary(rows: Sequence[QuestionScore]) -> dict[str, float]:
    """Recall by depth, of everything that is answerable."""
    recalls = [row.recall for row in rows if row.kind != "unanswerable"]
    found = {
        f"recall@{k}": round(100 * statistics.fmean(recall[k] for recall in recalls), 1) for k in DEPTHS if recalls
    }
    for group, kinds in GROUPS.items():
        if some := [row.recall[3] for row in rows if row.kind in kinds]:
            found[f"recall@3, {group}"] = round(100 * statistics.fmean(some), 1)
    return found


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _question(record: dict[str, Any]) -> RepositoryQuestion:
    gold = tuple(tuple(map(_span, alternatives)) for alternatives in record["gold"])
    return RepositoryQuestion(record["id"], record["kind"], record["question"], gold, tuple(record.get("before", ())))


def _span(record: dict[str, Any]) -> Span:
    first, last = record["lines"]
    return Span(record["path"], first, last, record["says"])


def _write_readme(wheel: Path, tree: Path) -> None:
    """The README of a repository, which a wheel has in its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(archive.read(name))
    (tree / "README.md").write_text(str(message.get_payload()), encoding="utf-8")
