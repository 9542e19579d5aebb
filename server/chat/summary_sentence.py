"""The first sentence of an extractive answer: what the best evidence says, in one sentence.

    `evict` in cache.py:120 removes the least recently used entries until the cache fits.
    `evict` in cache.py:120 (calls `pop_oldest`; called by `Cache.put`).
    README.md, section `Caching`: entries expire after an hour.
    `MAX_AGE` is 60 (config.py:12).

Owns its wording. The texts come from the docstring or comment of a definition, else from its calls. Knows no score.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ...codegraph import Definition
from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.symbol_table import is_class
from ...languages import language_named
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.descriptions import comment_above, description_of, first_sentence, is_comment, without_markup
from ...retrieval.terms import terms_of
from .symbol_queries import callees, callers
from .values import EvidenceItem

MAX_CHARACTERS = 160  # of a description; a longer one is cut
N_NAMES = 3  # the number of callees and callers that are named
MAX_VALUE = 60  # the most characters of a value in a sentence


def item_sentence(item: EvidenceItem, index: RepositoryIndex | None, words: Sequence[re.Pattern[str]], at: str) -> str:
    """What an item says, with a full stop; "" for code of which nothing is known but its lines.

    `at` is its path, with the folder's name where there are several.
    """
    if item.kind == "document":
        return _document_sentence(item, words, at)
    named = None if index is None or item.path not in index else _definition_of(index, item)
    if named is None or index is None:
        lines = item.text.split("\n")
        said = first_sentence(lines) if is_comment(lines[0]) else ""
        where = f"{at}:{item.start_line + 1}"
        if item.symbol:
            return f"`{item.symbol}` in {where}."
        return f"{where}: {_end(_lower(_cut(said)))}" if said else ""
    described = _description(index, named)
    if not described and (around := _function_around(index, named)) is not None:
        named, described = around, _description(index, around)
    where = f"`{named.definition.qualified_name}` in {at}:{named.definition.header_line + 1}"
    if described:
        return f"{where}{_end(_predicate(_cut(described), named.definition.name))}"
    about = "; ".join(filter(None, (_parts(index, named), _called(index, named), _calling(index, named))))
    return f"{where} ({about})." if about else f"{where}."


def definition_line(item: EvidenceItem, index: RepositoryIndex | None) -> int:
    """The line of the name that an item defines, else its first line."""
    named = None if index is None or item.path not in index else _definition_of(index, item)
    return item.start_line if named is None else named.definition.header_line


def value_line(
    items: Iterable[EvidenceItem], words: Sequence[Collection[str]]
) -> tuple[EvidenceItem, int, str, str] | None:
    """The first line that assigns a short literal to a name with one form of each word: item, line, name and value."""
    for item in items:
        for number, line in enumerate(item.text.split("\n"), item.start_line):
            found = _ASSIGNMENT.match(line)
            if found is None or not words:
                continue
            terms = {term.lower() for term in terms_of(found["name"])}
            if not any(terms.isdisjoint(forms) for forms in words):
                value = assigned_value(line, found["name"])
                if _is_literal(value):
                    return item, number, re.sub(r"^(?:this|self)\.", "", found["name"]), value
    return None


def assigned_value(line: str, name: str) -> str:
    """The short value that a line assigns to a name, in backticks unless it is a number; "" if there is none."""
    last = re.escape(name.rpartition(".")[2])
    found = re.search(rf"\b{last}['\"]?\s*(?::\s*[^=:(]+?\s*)?(?::=|=(?!=)|:)\s*(?P<value>.+)$", line)
    if found is None:
        return ""
    value = re.sub(r"\s+(?:#|//|--).*$", "", found["value"]).strip().rstrip(",;").strip()
    is_whole = all(value.count(a) == value.count(b) for a, b in ("()", "[]", "{}"))
    if not value or not is_whole or len(value) > MAX_VALUE or value[-1] in "\\+-*/|&=(" or "`" in value:
        return ""
    return value if re.fullmatch(r"-?[\d_.]+", value) else f"`{value}`"


def _is_literal(value: str) -> bool:
    """Whether a value names no variable: numbers, strings, constants of the language and calls with those."""
    names = _NAME.findall(_STRING.sub("", value))
    return bool(value) and all(name.lower() in ("true", "false", "none", "null", "nil") for name in names)


_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME = re.compile(r"(?<![\w.$])[A-Za-z_$][\w.$]*(?!\s*[\w.$(=])")
_ASSIGNMENT = re.compile(
    r"\s*(?:(?:export|const|let|var|static|final|public|private|protected|internal|pub|readonly|val|default)\s+)*"
    r"(?:[\w<>\[\]]+\s+)?['\"]?(?P<name>[A-Za-z_$][\w$.]*)['\"]?\s*(?::=|=(?!=)|:(?!:))"
)


def _definition_of(index: RepositoryIndex, item: EvidenceItem) -> NamedDefinition | None:
    """The definition that an item shows, or that a comment directly above it describes."""
    found = index.graph.definition(item.path, item.symbol) if item.symbol else None
    if found is not None:
        # Definitions of one name, as the getter and the setter of a property: the one that is shown.
        same = [d for d in index.graph.files[item.path].definitions if d.qualified_name == item.symbol]
        shown = [d for d in same if d.start_line <= item.start_line < d.end_line]
        return NamedDefinition(item.path, (shown or [found])[0])
    lines = _lines(index, item.path)
    for definition in index.graph.files[item.path].definitions:
        above = comment_above(lines, definition) if item.start_line < definition.start_line else None
        if above is not None and above[1] == item.end_line and above[0] < item.end_line:
            return NamedDefinition(item.path, definition)
    return None


def _lines(index: RepositoryIndex, path: str) -> list[str]:
    return index.texts[path].decode("utf-8", "replace").split("\n")


def _description(index: RepositoryIndex, named: NamedDefinition) -> str:
    in_body = language_named(index.graph.files[named.path].language).docstring_in_body
    return description_of(_lines(index, named.path), named.definition, in_body)


def _function_around(index: RepositoryIndex, named: NamedDefinition) -> NamedDefinition | None:
    """The nearest function around a definition that has a description."""
    around = named
    while around.definition.parent != MODULE_SCOPE:
        around = NamedDefinition(named.path, index.graph.files[named.path].definitions[around.definition.parent])
        if is_class(around.definition):
            return None
        if _description(index, around):
            return around
    return None


def _document_sentence(item: EvidenceItem, words: Sequence[re.Pattern[str]], at: str) -> str:
    """The first sentence of a section with the most words of the question."""
    title = item.symbol.rpartition(" > ")[2].strip()
    section = f"{at}, section `{title}`" if title and "`" not in title else f"{at}:{item.start_line + 1}"
    sentences = [sentence for paragraph in _paragraphs(item.text) for sentence in _SENTENCES.split(paragraph)]
    sentences = [sentence for sentence in sentences if len(sentence.split()) > 2 and sentence != title]
    if not sentences:
        return f"{section}."
    best = max(sentences, key=lambda sentence: sum(1 for word in words if word.search(sentence)))
    return f"{section}: {_end(_lower(_cut(best)))}"


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a section without headings, tables, code and directives, each on one line."""
    found, said, is_code = list[str](), list[str](), False
    for line in [*text.split("\n"), ""]:
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            is_code = not is_code
        starts = _ITEM.match(stripped)
        if is_code or not stripped or _NO_PROSE.match(stripped) or starts:
            if said:
                found.append(without_markup(" ".join(said)))
            said = [stripped[starts.end() :]] if starts and not is_code else []
        else:
            said.append(stripped)
    return found


_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_NO_PROSE = re.compile(r"#|\||```|~~~|\.\. |:\w+:|[=~^\-_*]{3,}$|<|!?\[!|\$ ")
_SENTENCES = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`])")


def _predicate(text: str, name: str) -> str:
    """A description as the rest of a sentence that starts with its subject: " removes ...", else ": text"."""
    first, _, rest = text.partition(" ")
    if first.strip("`") in (name, f"{name}()") and rest:
        return f" {rest}" if _IS_VERB.match(rest) else f": {rest}"
    # "Return the …" and "Returns the …" describe what the definition does; "Base class of …" is a noun.
    verb = _third_person(first.lower(), rest)
    if not verb:
        return f": {_lower(text)}"
    second = re.match(r"(?P<and>,? (?:and|or|then|and then) )(?P<verb>[a-z]+)\b", f" {rest}")
    if second is not None and second["verb"] in _VERBS:
        rest = f"{second['and']}{_with_s(second['verb'])}{f' {rest}'[second.end() :]}".lstrip()
    return f" {verb} {rest}"


_IS_VERB = re.compile(r"(?:[a-z]+s|has|can|may|must|will|should|holds)\b")


def _third_person(first: str, rest: str) -> str:
    """The verb in the third person; "" if the word is not certain to be one."""
    following = rest.partition(" ")[0].lower().strip("`\"'(,")
    takes_object = following in _DETERMINERS
    if first in _VERBS and rest:
        return _with_s(first) if takes_object or first not in _ALSO_NOUNS else ""
    base = _BASE_OF.get(first)
    if base is not None and rest and (base not in _ALSO_NOUNS or takes_object):
        return first
    return first if first.endswith("s") and not first.endswith("ss") and takes_object and first != "this" else ""


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


_VERB_TEXT = """
    abort accept acquire adapt add adjust allocate allow analyse analyze append apply ask assert assign attach bind
    block build cache calculate call cancel change check choose clean clear clone close collect combine compare compile
    complete compute configure connect construct consume contain convert copy count create cut decide decode decrement
    define delete describe destroy detect determine disable discard dispatch display distribute download drop emit
    enable encode enforce ensure enter escape evaluate evict execute exit expand expect expose extend extract fetch
    fill filter find finish flush fold force forget format forward free generate get give group handle hash hide hold
    identify ignore implement import increase index inform initialise initialize insert inspect install intercept
    invalidate invoke iterate join keep limit list load lock log look lower make manage map mark match merge mount move
    multiply normalise normalize notify observe obtain open override parse perform pick plan pop prepare prevent print
    process produce provide pull push put query queue raise read receive record redirect reduce refresh register reject
    release reload remove rename render reorder replace report represent request require reset resolve respond restore
    resume retrieve return reverse rewrite roll run sanitise sanitize save scan schedule search select send serialise
    serialize serve set show shut sign skip sleep sort split start stop store strip submit subscribe swap sync take tell
    terminate test tidy toggle track transform translate traverse trigger trim truncate try turn unlock unwrap update
    upgrade use validate verify visit wait walk warn watch wrap write yield
"""
_VERBS = frozenset(_VERB_TEXT.split())
"""Verbs with which docstrings and comments begin."""

_BASE_OF = {_with_s(verb): verb for verb in _VERBS}

_NOUN_TEXT = """
    block cache call change check clone copy count cut display download drop exit filter fold force format forward free
    group handle hash hold import increase increment index limit list load lock log look map mark match merge mount
    move override pick plan print process produce pull push query queue record redirect register release report request
    reset return reverse roll run scan schedule search set show sign sleep sort split start stop store strip swap sync
    test track transform trigger try turn update upgrade use visit wait walk watch wrap yield
"""
_ALSO_NOUNS = frozenset(_NOUN_TEXT.split())
"""Those that are nouns, too: verbs only before an article or a similar word."""

_DETERMINER_TEXT = """
    a all an any as both each every false how if its new no none null one only some that the their these this to true
    two until up what whether
"""
_DETERMINERS = frozenset(_DETERMINER_TEXT.split())


def _parts(index: RepositoryIndex, named: NamedDefinition) -> str:
    """The members of a class."""
    if not is_class(named.definition):
        return ""
    inside = [d for d in index.graph.files[named.path].definitions if _is_inside(d, named.definition)]
    return f"{named.definition.kind} with {_names((d.name for d in inside), named)}" if inside else ""


def _is_inside(definition: Definition, owner: Definition) -> bool:
    return definition.qualified_name == f"{owner.qualified_name}.{definition.name}"


def _called(index: RepositoryIndex, named: NamedDefinition) -> str:
    if is_class(named.definition):
        return ""
    found = _names((target.definition.qualified_name for _, target in callees(index, named)), named)
    return f"calls {found}" if found else ""


def _calling(index: RepositoryIndex, named: NamedDefinition) -> str:
    own = named.definition.qualified_name
    found = _names((call.enclosing for call in callers(index, named) if call.enclosing not in ("", own)), named)
    verb = "created in" if is_class(named.definition) else "called by"
    return f"{verb} {found}" if found else ""


def _names(names: Iterable[str], named: NamedDefinition) -> str:
    """The first names, without the owner that they share with a definition, and the number of the others."""
    owner = named.definition.qualified_name.rpartition(".")[0]
    quoted = [f"`{name.removeprefix(f'{owner}.')}`" for name in dict.fromkeys(names)]
    rest = len(quoted) - N_NAMES
    return ", ".join(quoted[:N_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _cut(text: str) -> str:
    """The text without its final mark, cut between words where it is too long."""
    text = text.strip().rstrip(".:;, ")
    if len(text) <= MAX_CHARACTERS:
        return text
    cut = text[:MAX_CHARACTERS].rpartition(" ")[0].rstrip(",;: ")
    cut += "`" if cut.count("`") % 2 else ""
    return f"{cut} …"


def _end(text: str) -> str:
    return text if text.endswith("…") else f"{text}."


def _lower(text: str) -> str:
    """The text with a small first letter, unless the first word is a name or an abbreviation."""
    first = re.split(r"[\s,]", text, maxsplit=1)[0]
    is_plain = first[:1].isupper() and first[1:].islower() and first[1:].isalpha()
    return text[:1].lower() + text[1:] if is_plain or first in ("A", "If") else text
