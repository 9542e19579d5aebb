"""Lexicons: which language a question is in, and the English words of its words."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from weft.retrieval.questions import language_of_question, lexicon, read_lexicon
from weft.retrieval.questions.lexicon import ASIAN, ENGLISH, EUROPEAN, lexicon_of, spaced

LANGUAGES = EUROPEAN + ASIAN

MOST_ENGLISH_WORDS = 5


def words_of(language, text):
    """The content words of a text, each with its most usual English word."""
    return [(word, english[0] if english else "") for word, english in read_lexicon(language).content_words(text)]


# The files


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_entry_has_a_few_different_english_words(language):
    entries = read_lexicon(language).words
    assert len(entries) > 3000
    for word, english in entries.items():
        assert 1 <= len(english) <= MOST_ENGLISH_WORDS, word
        assert len(set(english)) == len(english), word
        assert all(re.fullmatch("[a-z0-9]+", each) for each in english), word


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_has_one_entry(language):
    section = read_section(language, "words")
    written = [word for line in section for word in line.partition("=")[0].split()]
    assert len(written) == len(set(written))
    assert all("=" in line for line in section)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_entry_is_a_stop_word(language):
    """It would never be looked up."""
    stop_words = read_lexicon(language).stop_words
    assert stop_words and stop_words.isdisjoint(read_lexicon(language).words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_has_patterns_and_none_matches_nothing(language):
    read = read_lexicon(language)
    kinds = {"callees", "callers", "decision", "definition", "documentation", "path", "raisers", "returns"}
    assert {kind for kind, _ in read.kinds} == kinds | {"subclasses", "uses", "value"}
    for pattern in (read.opening, read.pronoun, *(pattern for _, pattern in read.kinds)):
        assert not pattern.search("")


def read_section(language, name):
    lines = (lexicon._FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    found, section = [], "words"
    for line in lines:
        if line.startswith("["):
            section = line.strip("[]")
        elif section == name and line.strip() and not line.startswith("#"):
            found.append(line)
    return found


# Each text is repeated up to 2,000 characters, the longest question that is read.
HOSTILE = {
    "german": ["wo ", "wo ist ", "was ", "was wird in ", "von welche a aus ", "lösen ", "ist das ", "von   welc x"],
    "french": ["ou ", "où est ", "que ", "quel ", "d'ou x", "comment arrive à ", "du   ", "lance ", "qu'est-ce que "],
    "spanish": ["donde ", "qué a ", "como ", "a qué a ", "desde ", "de qué a "],
    "chinese": ["从", "从a到", "被", "被誰", "怎么", "哪里", "什么时候", "那"],
    "japanese": ["から", "どの関数が", "どのが", "どうやって", "何の例 x", "は", "の中で"],
    "korean": ["에서 ", "누가 ", "어디서 ", "어떤 함수가 ", "까지 "],
}
MATCH_ALL = """
import json, sys
from weft.retrieval.questions import analyse_question, language_of_question, read_lexicon
for language, seeds in json.loads(sys.argv[1]).items():
    lexicon = read_lexicon(language)
    for seed in (*seeds, " ", "a", "a ", "("):
        text = (seed * 2000)[:2000]
        lexicon.kinds_of(text), lexicon.opening.search(text), lexicon.pronoun.search(text)
        list(lexicon.content_words(text)), language_of_question(text), analyse_question(text)
"""


def test_no_pattern_backtracks_without_end():
    """In a process of its own: a pattern that hangs cannot be interrupted. Without a hang it takes about 2 s."""
    done = subprocess.run([sys.executable, "-c", MATCH_ALL, json.dumps(HOSTILE)], timeout=20, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


# The language


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("german", "Wo wird der Cache geleert?"),
        ("german", "Was ist das?"),
        ("german", "Wer ruft total_price auf?"),
        ("german", "Wo ist der default timeout of the client?"),
        ("german", "wie groß ist der Cache"),
        ("french", "Où est défini le cache ?"),
        ("french", "qui appelle evict"),
        ("french", "Comment vide-t-on le cache ?"),
        ("french", "quel est le timeout du client HTTP ?"),
        ("spanish", "¿Dónde se vacía la caché?"),
        ("spanish", "quien llama a evict"),
        ("spanish", "donde se define el limite"),
        ("chinese", "缓存在哪里清空？"),
        ("chinese", "evict_lru 在哪里"),
        ("chinese", "谁调用 Cache.evict()"),
        ("japanese", "キャッシュはどこで削除されますか"),
        ("japanese", "evict_lruを呼ぶのは?"),
        ("korean", "캐시는 어디서 삭제되나요?"),
        ("korean", "evict_lru는 누가 호출해"),
    ],
)
def test_the_language_of_a_question_is_that_of_its_words(language, question):
    assert language_of_question(question) == language


@pytest.mark.parametrize(
    "text",
    [
        "Where is the cache cleared?",
        "the uber class",
        "cafe",
        "Where is the café menu built?",
        "Where is the naïve Bayes classifier trained?",
        "résumé parser",
        "Where is the Zeitgeist decided?",
        "Explain the über class",
        "what is the de facto default?",
        "who calls le_bytes",
        "where is die rolled",
        "What does el do in jQuery?",
        "list all pays",
        "plus or minus",
        "parse a comment or a quoted string",
        "all comment types",
        "list files in dir",
        "d a t a",
        "die",
        "main",
        "évict",
        "?",
        "",
    ],
)
def test_english_and_what_is_in_no_language_is_english(text):
    assert language_of_question(text) == ENGLISH
    assert lexicon_of(text) is None


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wo wird die Verbindung geschlossen?", [("verbindung", "connection"), ("geschlossen", "close")]),
        # Strong verbs
        ("Was wird geworfen?", [("geworfen", "throw")]),
        ("Wer hat das geschrieben und wann wird es gelesen?", [("geschrieben", "write"), ("gelesen", "read")]),
        # Compounds, with letters between their parts
        ("Warteschlangenlänge", [("warteschlange", "queue"), ("länge", "length")]),
        ("Verbindungsabbruch", [("verbindung", "connection"), ("abbruch", "abort")]),
        ("Zwischenspeichergröße", [("zwischenspeicher", "cache"), ("größe", "size")]),
        ("Dateinamenerweiterung", [("dateiname", "filename"), ("erweiterung", "extension")]),
        # An entry comes before its parts; an unknown word is kept
        ("Ladevorgang", [("ladevorgang", "loading")]),
        ("Quarkstrudel", [("quarkstrudel", "")]),
    ],
)
def test_german_words(text, words):
    assert words_of("german", text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Où est-ce qu'on vide l'index ?", [("vide", "empty"), ("index", "index")]),
        ("d'où vient l’erreur", [("vient", "come"), ("erreur", "error")]),
        ("qu'est-ce que le délai d'attente", [("délai attente", "timeout")]),
        ("mise à jour de la liste", [("mise à jour", "update"), ("liste", "list")]),
        ("ou est verifie le delai", [("verifie", "check"), ("delai", "delay")]),
    ],
)
def test_french_words_with_elisions_expressions_and_without_accents(text, words):
    assert words_of("french", text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("¿Dónde se valida la contraseña?", [("valida", "validate"), ("contraseña", "password")]),
        ("donde se elimina la sesion", [("elimina", "remove"), ("sesion", "session")]),
        ("el tiempo de espera por defecto", [("tiempo de espera", "timeout"), ("por defecto", "default")]),
    ],
)
def test_spanish_words_with_expressions_and_without_accents(text, words):
    assert words_of("spanish", text) == words


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("chinese", "缓存在哪里清空", [("缓存", "cache"), ("清空", "clear")]),
        ("chinese", "用戶登錄", [("用戶", "user"), ("登錄", "login")]),
        ("chinese", "默认超时时间", [("默认", "default"), ("超时时间", "timeout")]),
        (
            "japanese",
            "キャッシュのサイズはどこで決まりますか",
            [("キャッシュ", "cache"), ("サイズ", "size"), ("決まり", "decide")],
        ),
        ("japanese", "ユーザーの削除", [("ユーザー", "user"), ("削除", "delete")]),
        ("korean", "사용자의 세션이 만료되면", [("사용자", "user"), ("세션", "session"), ("만료", "expire")]),
        ("korean", "파일을 읽는 함수", [("파일", "file"), ("읽", "read"), ("함수", "function")]),
        ("korean", "캐시를 어디서 비우나요", [("캐시", "cache"), ("비우", "clear")]),
    ],
)
def test_text_without_blanks_or_with_particles_is_cut_into_entries(language, text, words):
    assert words_of(language, text) == words


def test_latin_and_asian_letters_are_set_apart():
    assert spaced("evict_lru는 누가") == "evict_lru 는 누가"
    assert spaced("从main到tax") == "从 main 到 tax"
    assert spaced("größe of naïve") == "größe of naïve"


LETTERS = "aäßéñ 缓存谁あカー캐시를👩\u200d🚀\ud800\udfff'’-_`?¿0\u0301\u1100"
PIECES = st.sampled_from([*LETTERS, "qu'", "wo ", "où ", "schlange", "évict_lru("])


@given(st.text(max_size=200) | st.lists(PIECES, max_size=60).map("".join))
@example("\ud83d")
@example("👩‍🚀캐시👩‍🚀")
def test_any_text_has_a_language_and_words(text):
    assert language_of_question(text) in (ENGLISH, *LANGUAGES)
    for language in LANGUAGES:
        read = read_lexicon(language)
        assert all(word for word, _ in read.content_words(spaced(text)))
        assert read.kinds_of(text) <= {kind for kind, _ in read.kinds}
