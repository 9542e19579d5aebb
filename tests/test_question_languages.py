"""Questions in seven languages: how they are read, and that each finds the same code."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.retrieval.questions import analyse_question, search
from weft.retrieval.questions.query_analysis import INTENT_WEIGHT, UNTRANSLATED_WEIGHT


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = (part.partition("\n") for part in textwrap.dedent(text).split("#- ")[1:])
    parts = ((parse_file(name.strip(), content), slice_file(name.strip(), content)) for name, _, content in files)
    return RepositoryIndex.build(parts)


SHOP = index_of(
    """
    #- shop/users.py
    def check_password(user, text):
        return hash_of(text) == user.password_hash
    #- shop/cache.py
    def evict_oldest(cache):
        oldest = min(cache, key=cache.used_at)
        del cache[oldest]
    #- shop/window.py
    def resize(window, width, height):
        window.width, window.height = width, height
    #- shop/mail.py
    def send_mail(message, recipients):
        for recipient in recipients:
            smtp.send(message, recipient)
    #- shop/files.py
    def read_config(path):
        with open(path) as file:
            return parse(file.read())
    """
)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("Where is the password checked?", "check_password"),
        ("Wo wird das Passwort geprüft?", "check_password"),
        ("Où le mot de passe est-il vérifié ?", "check_password"),
        ("¿Dónde se comprueba la contraseña?", "check_password"),
        ("密码在哪里检查？", "check_password"),
        ("パスワードはどこで確認されますか", "check_password"),
        ("비밀번호는 어디서 확인하나요?", "check_password"),
        ("Wo wird die Fenstergröße geändert?", "resize"),
        ("donde se envia el correo", "send_mail"),
        ("qui lit le fichier de configuration", "read_config"),
        ("谁读取配置文件", "read_config"),
        ("キャッシュから削除するのはどこ", "evict_oldest"),
        ("`evict_oldest` 在哪里定义", "evict_oldest"),
        ("evict_oldest는 어디에 있나요?", "evict_oldest"),
    ],
)
def test_a_question_finds_the_code_in_every_language(question, unit):
    assert search(SHOP, question).units[0].unit.symbol == unit


@pytest.mark.parametrize(
    ("question", "language", "names", "kind"),
    [
        ("Wer ruft total_price auf?", "german", ("total_price",), "callers"),
        ("Wo ist die Klasse Shop definiert?", "german", (), "definition"),
        ("Wie viele Einträge hat der Cache höchstens?", "german", (), "value"),
        ("qui appelle total_price ?", "french", ("total_price",), "callers"),
        ("Quelles classes héritent de `Shop` ?", "french", ("Shop",), "subclasses"),
        ("¿Quién llama a Shop.pay?", "spanish", ("Shop.pay",), "callers"),
        ("¿Qué excepción lanza pay()?", "spanish", ("pay",), "raisers"),
        ("谁调用了 total_price", "chinese", ("total_price",), "callers"),
        ("默认超时时间是多少", "chinese", (), "value"),
        ("total_priceを呼び出しているのはどこですか", "japanese", ("total_price",), "callers"),
        ("Shop.payは何を返しますか", "japanese", ("Shop.pay",), "returns"),
        ("total_price는 누가 호출하나요", "korean", ("total_price",), "callers"),
        ("Shop을 상속하는 클래스는?", "korean", (), "subclasses"),
    ],
)
def test_names_and_kinds_are_read_in_every_language(question, language, names, kind):
    analysed = analyse_question(question)
    assert (analysed.language, analysed.names) == (language, names)
    assert kind in analysed.kinds


def test_a_way_through_the_code_is_asked_for_in_chinese():
    assert "path" in analyse_question("从 main 怎么到达 tax").kinds
    assert "path" not in analyse_question("税率在哪里定义").kinds


def test_the_first_english_word_weighs_most():
    (size,) = analyse_question("Wo ist die Größe?").concepts
    assert size.word == "größe"
    assert size.forms["size"] == 1.0 > size.forms["length"] > 0
    assert size.forms["größe"] == 1.0  # comments may be in the language of the question


def test_a_word_that_no_lexicon_has_weighs_little_unless_it_may_be_english():
    weights = {c.word: c.weight for c in analyse_question("Wo wird die quärkelung im frobnicator geprüft?").concepts}
    assert weights == {"quärkelung": UNTRANSLATED_WEIGHT, "frobnicator": 1.0, "geprüft": 1.0}


def test_words_for_the_kind_of_answer_weigh_as_in_english():
    concepts = {c.word: c.weight for c in analyse_question("Wo wird der Preis berechnet und zurückgegeben?").concepts}
    assert concepts["preis"] == 1.0
    assert concepts["zurückgegeben"] == INTENT_WEIGHT


def test_meaning_has_the_english_words_and_the_names():
    meaning = dict(analyse_question("Wo wird das Passwort von user_name geprüft?").meaning)
    assert meaning["password"] == max(meaning.values())
    assert meaning["user"] == meaning["name"] == 1.0
    assert not {"wo", "wird", "das", "passwort", "geprüft"} & set(meaning)
    assert dict(analyse_question("Where is the password checked?").meaning)["checked"] == 1.0


def test_german_nouns_are_no_names():
    assert analyse_question("Wo wird das Passwort geprüft?").capitalised == ()
    assert "Shop" in analyse_question("où est la classe Shop").capitalised


LANGUAGES = ("wo ist ", "où est ", "¿dónde está ", "在哪里", "どこで", "어디서 ")


@given(st.sampled_from(LANGUAGES), st.text(max_size=200))
def test_any_text_in_any_language_can_be_read_and_searched(beginning, text):
    analysed = analyse_question(beginning + text)
    assert all(concept.forms and concept.weight > 0 for concept in analysed.concepts)
    assert all(word and weight > 0 for word, weight in analysed.meaning)
    search(SHOP, beginning + text)
