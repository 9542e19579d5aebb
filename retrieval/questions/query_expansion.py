"""Query expansion: inflections, derivations, abbreviations and synonyms of a word of a question, with weights.

"decides" expands to `decided`, "directory" to `dir`. Owns the rules for English words and the tables of abbreviations
and synonyms of programmers. Knows no repository: an expansion without postings costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

# Weights relative to the word itself. Benchmarks: benchmarks/results/memory-log.md, "Questions about the code".
INFLECTED = 0.95  # step, steps, stepping
DERIVED = 0.75  # schedule, scheduler; configure, configuration
ABBREVIATED = 0.8  # directory, dir
SYNONYM = 0.5  # delete, remove

_ABBREVIATIONS = """
    absolute abs | accumulate acc accum | activation act | address addr | administrator admin | application app |
    argument arg args kwargs | attribute attr attrs | authentication auth | authorization auth | average avg |
    buffer buf | category cat | certificate cert | character char chars | checkpoint ckpt | coefficient coef coeff |
    column col cols | command cmd | concatenate cat concat | configuration config | configuration config cfg conf |
    connection conn | context ctx | coordinate coord coords | correlation corr | covariance cov | credentials creds
    | database db | declaration decl | decoder dec | deduplicate dedupe | default defaults | definition def |
    delimiter delim | dependency dep deps | derivative deriv | description desc | destination dest dst | development
    dev | dictionary dict | difference diff | dimension dim dims | directory dir dirs | discriminator disc |
    distribution dist | documentation doc docs | duplicate dedupe dup | embedding emb embed | encoder enc |
    environment env envs | error err | escape esc | estimate est | evaluate eval | execute exec | exponent exp |
    expression expr | extension ext | feature feat | function func fn | generalized generalised | generator gen |
    gradient grad grads | heterogeneous heterogenous | hyperparameter hparam hparams | identifier id ids | image img
    | implementation impl | index idx | information info | initialise init initializer | instruction instr | integer
    int | iteration iter iters | iterator iter | language lang | learning_rate lr | length len | library lib |
    logarithm log | maximum max | memory mem | message msg | milliseconds ms | minimum min | multiply mul |
    normalization norm | number num n | object obj | observation obs | operation op ops | optimizer optim opt |
    original orig | package pkg | parameter param params | password passwd pwd | pathname path | pointer ptr |
    position pos | previous prev | probability prob probs | process proc | product prod | property prop props |
    quantity qty | random rng rand | reference ref refs | regular reg | relative rel | repository repo | request req
    | response resp | seconds secs | separator sep | sequence seq | source src | specification spec specs | standard
    std | statement stmt | statistic stats stat | string str | synchronise sync | temperature temp | temporary tmp
    temp | timestamp ts | transaction txn | transition trans | unique uniq | utility util utils | value val |
    variable var vars | variance var | vector vec | version ver | vocabulary vocab
"""
_SYNONYMS = """
    remove delete erase drop discard purge | error exception fail failure | save store write dump persist keep |
    load read restore open | create make build construct | compute calculate evaluate derive | begin start |
    stop end finish abort | option setting argument parameter flag | folder directory | average mean |
    send post submit emit | receive fetch get | check verify validate ensure assert | choose select pick decide |
    convert transform cast parse | limit bound clip clamp cap max | print show display render draw plot |
    count number amount many | size length width | wait sleep pause delay block | retry again repeat attempt |
    log trace record | skip ignore exclude | combine merge join concatenate concat | reset clear empty |
    duplicate same identical twice | random seed shuffle sample | cache memo keep | thread worker process |
    interrupt cancel abort | negative minus | allowed permitted valid | subclass inherit derive | big large huge |
    small short tiny | fast speed quick | test check | list enumerate | split divide cut | order sort rank |
    file path | run execute call invoke | update refresh | find search lookup locate | wrong invalid bad incorrect |
    reverse backward backwards inverse
"""
_IRREGULAR = """
    write writes writing written wrote | choose chooses choosing chosen chose choice | build builds building built |
    send sends sending sent | run runs running ran | keep keeps keeping kept | give gives giving given gave |
    take takes taking taken took | draw draws drawing drawn drew | make makes making made | hide hides hidden |
    throw throws throwing thrown threw | hold holds holding held | lose loses losing lost loss |
    break breaks breaking broken broke | get gets getting got | find finds finding found | begin begins began begun |
    freeze freezes freezing frozen | know known knows | think thought | read reads reading |
    decide decides decided deciding decision | split splits splitting | index indices indexes indexed indexing |
    vertex vertices | matrix matrices | axis axes | datum data | criterion criteria | leaf leaves | child children |
    bind binds binding bound | spend spends spent | leave leaves left | fall falls fell fallen | grow grows grown grew |
    derive derives derived derivation | analyse analyze analysis analyses analysed |
    feed feeds feeding fed | pay pays paying paid payment | buy bought | sell sold | bring brought | catch caught |
    meet met | drive drives driving driven | forget forgets forgot forgotten | shrink shrunk | lead leads led |
    spin spun | stand stood | lay lays laid | seek sought | sleep slept | wind wound | win won | tell told | fly flown |
    say said
"""


@lru_cache(maxsize=4096)
def expand_word(word: str) -> dict[str, float]:
    """The expansions of a lower-case word with their weights, itself first with 1."""
    found: dict[str, float] = {}

    def add(form: str, weight: float) -> None:
        for spelled in _spellings(form):
            if len(spelled) > 1 or spelled == word:
                found[spelled] = max(weight, found.get(spelled, 0.0))

    add(word, 1.0)
    bases = list(dict.fromkeys(_bases(word)))
    # An inflected word is reduced to its base first.
    for base in bases[1:] or bases:
        add(base, INFLECTED)
        for form in _inflected(base):
            add(form, INFLECTED)
    for root in dict.fromkeys(root for base in bases[1:] or bases for root in _roots(base)):
        for form in (*_inflected(root), *_derived(root)):
            add(form, DERIVED)
    for form, weight in list(found.items()):
        for table, factor in ((_ABBREVIATIONS_OF, ABBREVIATED), (_SYNONYMS_OF, SYNONYM)):
            for other in table.get(form, ()):
                for inflected in _inflected(other) if factor == SYNONYM else (other,):
                    add(inflected, weight * factor)
    return found


def _bases(word: str) -> Iterator[str]:
    """The word itself, and the possible bases of its inflection: stop of `stopping`, query of `queries`."""
    yield word
    yield from _INFLECTIONS_OF.get(word, ())
    if len(word) < 4:
        return
    if word.endswith("ies"):
        yield word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
        if word.endswith(("ses", "xes", "zes", "ches", "shes")):
            yield word[:-2]
    if word.endswith("ied"):
        yield word[:-3] + "y"
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            yield stem
            yield stem + "e"
            if (len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "ls") or stem.endswith("ll"):
                yield stem[:-1]


def _roots(word: str) -> Iterator[str]:
    """The verbs that a word may be derived from, or the word as such a verb."""
    if len(word) < 4:
        return
    is_derived = False
    for ending, others in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            is_derived = True
            yield from (stem + other for other in others)
            if len(stem) > 3 and stem[-1] == stem[-2] and ending in ("er", "or"):
                yield stem[:-1]
    if not is_derived:
        yield word


# Derivations of verbs that are common in code: initialization, scheduler, measurement, rejection.
_ENDINGS = (
    ("ization", ("ize",)),
    ("isation", ("ise",)),
    ("ification", ("ify",)),
    ("ation", ("ate", "e", "")),
    ("ition", ("ite", "e", "")),
    ("ision", ("ide", "ise")),
    ("sion", ("d", "se")),
    ("ion", ("", "e")),
    ("er", ("", "e")),
    ("or", ("", "e")),
    ("ment", ("",)),
    ("al", ("e", "")),
)


def _inflected(base: str) -> Iterator[str]:
    yield base
    yield from _INFLECTIONS_OF.get(base, ())
    if len(base) < 2:
        return
    if base.endswith("y") and base[-2] not in "aeiou":
        yield from (base[:-1] + "ies", base[:-1] + "ied", base + "ing")
        return
    yield base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")
    stem = base.removesuffix("e")
    yield from (stem + "ing", stem + "ed")
    if base[-1] not in "aeiouywx" and base[-2] in "aeiou":
        yield from (base + base[-1] + "ing", base + base[-1] + "ed")


def _derived(base: str) -> Iterator[str]:
    stem = base.removesuffix("e")
    yield from (stem + "er", stem + "or", stem + "ers", stem + "ion", stem + "ation", base + "ment", base + "ments")
    if base[-1] not in "aeiouywx" and base[-2] in "aeiou":
        yield base + base[-1] + "er"
    if base.endswith("ify"):
        yield base[:-1] + "ication"


def _spellings(word: str) -> Iterator[str]:
    """A word in British and in American spelling."""
    yield word
    for british, american in _BRITISH_AND_AMERICAN:
        for here, there in ((british, american), (american, british)):
            if here in word[2:]:
                yield word[:2] + word[2:].replace(here, there)


_BRITISH_AND_AMERICAN = (
    *(("ise", "ize"), ("isi", "izi"), ("isa", "iza"), ("yse", "yze"), ("centre", "center"), ("ence", "ense")),
    *(("avour", "avor"), ("aviour", "avior"), ("lour", "lor"), ("ghbour", "ghbor"), ("elled", "eled"), ("ogue", "og")),
)


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Each word -> the other words of its group."""
    found: dict[str, tuple[str, ...]] = {}
    for group in text.split("|"):
        words = group.split()
        for word in words:
            others = [other for other in words if other != word]
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return found


_ABBREVIATIONS_OF, _SYNONYMS_OF, _INFLECTIONS_OF = _table(_ABBREVIATIONS), _table(_SYNONYMS), _table(_IRREGULAR)
