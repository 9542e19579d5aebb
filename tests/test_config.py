"""Settings come in layers, a mistake is named and stops nothing, and a workspace cannot reach outside."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import Weights
from weft.llm.backends import DEFAULT_PROMPT_MS, ModelConfig
from weft.retrieval import RetrievalOptions
from weft.server.config import Config, describe, load_config, schema, user_config_file
from weft.server.config.options import index_settings, model_configs
from weft.server.config.settings import RENAMED, SETTINGS

PAGE = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text(encoding="utf-8")


def test_nothing_set_is_the_default_without_a_word(tmp_path: Path) -> None:
    assert load(tmp_path) == (Config(), [])
    assert load_config() is not None


def test_later_layers_win_setting_by_setting(tmp_path: Path) -> None:
    config, problems = load(
        tmp_path,
        user="[retrieval]\nk = 1\nalpha = 0.1\nquery_lines = 5\n",
        workspace="[retrieval]\nk = 2\nalpha = 0.2\n",
        editor={"retrieval": {"k": 3}},
    )
    assert (config.retrieval.k, config.retrieval.alpha, config.retrieval.query_lines) == (3, 0.2, 5)
    assert problems == []


def test_a_table_in_pyproject_is_the_workspaces_file(tmp_path: Path) -> None:
    config, problems = load(tmp_path, project="[project]\nname = 'x'\n[tool.weft.index]\nexclude = ['a/', 'b']\n")
    assert config.index.exclude == ("a/", "b")
    assert problems == []


def test_weft_toml_is_read_instead_of_pyproject_and_says_so(tmp_path: Path) -> None:
    config, problems = load(tmp_path, workspace="[retrieval]\nk = 2\n", project="[tool.weft.retrieval]\nk = 3\n")
    assert config.retrieval.k == 2
    assert problems == ["pyproject.toml: tool.weft: not read, because weft.toml exists"]


def test_mistakes_in_a_pyproject_without_a_weft_table_are_not_reported(tmp_path: Path) -> None:
    assert load(tmp_path, project="[project\nname = ") == (Config(), [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("log_levl = 'info'", "log_levl: no such setting; did you mean 'log_level'?"),
        ("[retreival]\nk = 1", "retreival: no such setting; did you mean 'retrieval'?"),
        ("[retrieval]\nstratgy = 'bm25'", "retrieval.stratgy: no such setting; did you mean 'retrieval.strategy'?"),
        (
            "[retrieval]\nquery-lines = 3",
            "retrieval.query-lines: no such setting; did you mean 'retrieval.query_lines'?",
        ),
        ("[index]\nexcludes = []", "index.excludes: no such setting; did you mean 'index.exclude'?"),
        ("[completion]\nalpha = 1", "completion.alpha: no such setting; did you mean 'retrieval.alpha'?"),
        ("max_new_token = 1", "max_new_token: no such setting; did you mean 'completion.max_new_tokens'?"),
        ("zzzz = 1", "zzzz: no such setting"),
        ("[retrieval]\nk = 'ten'", "retrieval.k: expected integer, found string"),
        ("[retrieval]\nk = true", "retrieval.k: expected integer, found boolean (true)"),
        ("[retrieval]\nk = 1.5", "retrieval.k: expected integer, found number (1.5)"),
        ("[retrieval]\nk = -1", "retrieval.k: expected at least 0, found -1"),
        ("[retrieval]\nalpha = 2", "retrieval.alpha: expected at most 1, found 2"),
        ("[retrieval]\nalpha = nan", "retrieval.alpha: expected at least 0, found nan"),
        ("[retrieval]\nk = {a = 1}", "retrieval.k: expected integer, found table"),
        ("index = 3", "index: expected a table, found integer (3)"),
        ("[index]\nexclude = 'docs'", "index.exclude: expected a list of strings, found string"),
        ("[index]\nexclude = ['a', 1]", "index.exclude: expected a list of strings, found integer (1) in it"),
        ("[index]\nskip_generated = 'no'", "index.skip_generated: expected boolean, found string"),
        (
            "log_level = 'verbose'",
            "log_level: expected one of 'debug', 'info', 'warning', 'error', found 'verbose'",
        ),
        (
            "[retrieval]\nstrategy = 'bm52'",
            "retrieval.strategy: expected one of 'weft', 'fragrel', 'fragrel:as_printed', 'bm25', "
            "'jaccard', 'jaccard:as_printed', 'none', found 'bm52'; "
            "did you mean 'bm25'?",
        ),
        ("log_level = 1979-05-27", "log_level: expected string, found date"),
    ],
)
def test_a_mistake_names_its_key_and_the_way_out(tmp_path: Path, text: str, problem: str) -> None:
    config, problems = load(tmp_path, workspace=text)
    assert problems == [f"weft.toml: {problem}"]
    assert config == Config()


def test_a_mistake_costs_only_its_own_setting(tmp_path: Path) -> None:
    config, problems = load(tmp_path, user="[retrieval]\nk = 4\n", workspace="[retrieval]\nk = 'x'\nalpha = 1\n")
    assert (config.retrieval.k, config.retrieval.alpha) == (4, 1.0)
    assert isinstance(config.retrieval.alpha, float)
    assert len(problems) == 1


def test_text_that_is_no_toml_is_named_with_its_line(tmp_path: Path) -> None:
    config, (problem,) = load(tmp_path, workspace="a = 1\r\n[index\nb = 2\n")
    assert problem.startswith("weft.toml:2: not valid TOML")
    assert config == Config()


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = '\xe9'", b"a = " + b"[" * 100_000, b"# " + b"x" * 2_000_000])
def test_a_file_beyond_reading_is_one_problem(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "weft.toml").write_bytes(data)
    config, problems = load(tmp_path)
    assert config == Config()
    assert len(problems) == 1


def test_a_folder_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "weft.toml").mkdir()
    assert load(tmp_path) == (Config(), [])


REACHING = {
    "model": "[[model]]\nbackend = 'openai'\nurl = 'http://elsewhere'\n",
    "cache_limit_mb": "cache_limit_mb = 0\n",
}


@pytest.mark.parametrize("key", REACHING)
def test_a_workspace_may_not_reach_outside(tmp_path: Path, key: str) -> None:
    config, (problem,) = load(tmp_path, workspace=REACHING[key])
    assert config == Config()
    assert problem.startswith(f"weft.toml: {key}: a workspace file may not set this; set it in ")
    assert problem.endswith(f"{tmp_path / 'user.toml'} or in the editor")


USERS = {
    "cache_dir": "/elsewhere",
    "data_dir": "/elsewhere",
    "memory.embeddings_key_variable": "AWS_SECRET_ACCESS_KEY",
    "model.api_key_variable": "AWS_SECRET_ACCESS_KEY",
}


@pytest.mark.parametrize("key", USERS)
def test_a_client_names_no_variable_to_send_and_no_folder_to_write_to(tmp_path: Path, key: str) -> None:
    table, _, name = key.rpartition(".")
    settings = {name: USERS[key]}
    nested = {table: {**settings, **({"url": "http://x", "backend": "openai"} if table == "model" else {})}}
    config, problems = load(tmp_path, editor=nested if table else settings)
    assert config == Config()
    assert problems == [
        f"editor settings: {key}: an editor may not set this; set it in {tmp_path / 'user.toml'}",
    ]
    text = {"model": "[[model]]\nbackend = 'openai'\n", "memory": "[memory]\n", "": ""}[table]
    config, problems = load(tmp_path, user=f"{text}{name} = '{USERS[key]}'\n")
    assert problems == [] and config != Config()
    _, (problem,) = load(tmp_path, workspace=f"{text}{name} = '{USERS[key]}'\n")
    assert "a workspace file may not set this" in problem


def test_a_key_of_the_user_is_not_sent_to_an_address_of_the_client(tmp_path: Path) -> None:
    user = "[memory]\nembeddings = 'api'\nembeddings_url = 'https://mine'\nembeddings_key_variable = 'KEY'\n"
    config, (problem,) = load(tmp_path, user=user, editor={"memory": {"embeddings_url": "https://other"}})
    assert (config.memory.embeddings_url, config.memory.embeddings_key_variable) == ("https://other", "")
    assert problem.startswith("editor settings: memory.embeddings_url: the API key is not sent there")
    config, problems = load(tmp_path, user=user, editor={"memory": {"embeddings_url": "https://mine"}})
    assert (config.memory.embeddings_key_variable, problems) == ("KEY", [])


@pytest.mark.parametrize("key", REACHING)
def test_the_user_may(tmp_path: Path, key: str) -> None:
    config, problems = load(tmp_path, user=REACHING[key])
    assert problems == []
    assert getattr(config, key) != getattr(Config(), key)


def test_models_stand_in_their_order_and_one_needs_no_list(tmp_path: Path) -> None:
    both = "[[model]]\nbackend = 'llama.cpp'\nurl = 'http://x'\n[[model]]\n"
    config, problems = load(tmp_path, user=both)
    assert config.model == (ModelConfig(backend="llama.cpp", url="http://x"), ModelConfig())
    config, problems = load(tmp_path, user=both, editor={"model": {"backend": "transformers", "path": "/m"}})
    assert config.model == (ModelConfig(backend="transformers", path="/m"),)
    assert problems == []


def test_a_model_with_a_mistake_is_left_out(tmp_path: Path) -> None:
    text = "[[model]]\nbackend = 'openai'\nurll = 'http://x'\n[[model]]\nbackend = 'transformers'\npath = '/m'\n"
    config, problems = load(tmp_path, user=text)
    assert config.model == (ModelConfig(backend="transformers", path="/m"),)
    assert problems == ["user.toml: model[1].urll: no such setting; did you mean 'model.url'?"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("accepts_suffix = true", 'model.accepts_suffix: removed. Set fim = "suffix" instead.'),
        ("backend = 'llama.cpp-completion'", "; did you mean 'llama.cpp'?"),
        ("backend = 'olama'", "; did you mean 'ollama'?"),
        ("fim = 'gwen'", "; did you mean 'qwen'?"),
        ("device = 'gpu'", "model.device: expected one of 'auto', 'cpu', 'cuda', 'mps', found 'gpu'"),
        ("threads = -1", "model.threads: expected at least 0, found -1"),
        ("connect_timeout_ms = 0", "model.connect_timeout_ms: expected at least 1, found 0"),
        ("context_tokens = 100", "model.context_tokens: expected at least 256, found 100"),
        ("prompt_ms = -1", "model.prompt_ms: expected at least 0, found -1"),
        ("download = 'yes'", "model.download: expected boolean, found string"),
    ],
)
def test_a_mistake_about_a_model_names_the_way_out(tmp_path: Path, text: str, problem: str) -> None:
    _, (found,) = load(tmp_path, user=f"[[model]]\n{text}\n")
    assert problem in found


def test_every_setting_of_a_model_reaches_it(tmp_path: Path) -> None:
    other = {
        "backend": "openai",
        "path": "/m",
        "url": "http://x",
        "name": "coder",
        "api_key_variable": "KEY",
        "context_tokens": 300,
        "prompt_ms": 500,
        "fim": "custom",
        "fim_prefix": "<p>",
        "fim_suffix": "<s>",
        "fim_middle": "<m>",
        "fim_suffix_first": True,
        "next_edit": "sweep",
        "device": "cpu",
        "quantise": "int8",
        "threads": 2,
        "cache_mb": 64,
        "speculative_decoding": False,
        "download": True,
        "connect_timeout_ms": 1500,
        "timeout_ms": 7000,
    }
    values = "".join(f"{name} = {json.dumps(value)}\n" for name, value in other.items())
    config, problems = load(tmp_path, user=f"[[model]]\n{values}")
    assert (problems, model_configs(config)) == ([], (ModelConfig(**other),))
    assert set(other) == {field.name for field in fields(ModelConfig)}, "none is left out here"
    assert all(getattr(ModelConfig(), name) != value for name, value in other.items())


def test_the_prompt_time_without_a_setting_is_that_of_the_model_room() -> None:
    (config,) = model_configs(Config(model=(ModelConfig(backend="openai"),)))
    assert config == ModelConfig(backend="openai", prompt_ms=DEFAULT_PROMPT_MS)


def test_options_of_other_rooms_are_described_with_their_defaults() -> None:
    assert {each.name for each in SETTINGS.values() if each.table == "model"} == {f.name for f in fields(ModelConfig)}
    for name in ("strategy", "k", "alpha", "include_self", "query_lines"):
        assert SETTINGS[f"retrieval.{name}"].default == getattr(RetrievalOptions(), name)
    assert SETTINGS["retrieval.relations.cut_off"].default == RetrievalOptions().cutoff
    for item in fields(Weights):
        assert SETTINGS[f"retrieval.relations.{item.name}"].default == item.default


def test_relations_of_the_settings_reach_the_index_and_the_query(tmp_path: Path) -> None:
    config, problems = load(tmp_path, workspace="[retrieval.relations]\ncall = 0.5\ncut_off = 0\n")
    assert problems == []
    assert (config.relations, config.retrieval) == (Weights(call=0.5), RetrievalOptions(cutoff=0.0))
    assert index_settings(config, "shop").weights.call == 0.5


def test_a_weight_of_zero_is_a_mistake(tmp_path: Path) -> None:
    config, problems = load(tmp_path, workspace="[retrieval.relations]\ncall = 0\n")
    assert (config, problems) == (Config(), ["weft.toml: retrieval.relations.call: expected at least 0.001, found 0"])


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("[completion]\nspeculate = true", "completion.prefetch_next", True),
        ("[chat]\nfound_above = 0.7", "chat.min_confidence", 0.7),
        ("[memory]\nkept_mb = 9", "memory.cache_limit_mb", 9),
    ],
)
def test_an_old_name_is_read_with_a_notice(tmp_path: Path, text: str, attribute: str, value: object) -> None:
    config, (problem,) = load(tmp_path, user=text)
    table, _, name = attribute.partition(".")
    assert getattr(getattr(config, table), name) == value
    assert f"renamed to `{attribute}`. The next version ignores the old name" in problem


def test_an_old_name_of_a_model_is_read_and_the_model_is_used(tmp_path: Path) -> None:
    config, (problem,) = load(tmp_path, user="[[model]]\nbackend = 'ollama'\nspeculate = false\n")
    assert config.model == (ModelConfig(backend="ollama", speculative_decoding=False),)
    assert problem.startswith("user.toml: model.speculate: renamed to `model.speculative_decoding`")


def test_a_new_name_wins_over_the_old_one(tmp_path: Path) -> None:
    text = "[completion]\nprefetch_next = false\nspeculate = true\n"
    config, problems = load(tmp_path, user=text)
    assert (config.completion.prefetch_next, len(problems)) == (False, 1)


def test_old_names_are_in_the_schema_as_deprecated() -> None:
    assert set(RENAMED.values()) <= set(SETTINGS)
    old = schema()["completion.speculate"]
    assert (old["type"], old["deprecationMessage"]) == ("boolean", "Renamed to weft.completion.prefetch_next.")
    model = schema()["model"]["items"]["properties"]["speculate"]
    assert model["deprecationMessage"] == "Renamed to speculative_decoding."


def test_old_names_are_in_the_documentation() -> None:
    for old, new in RENAMED.items():
        of_a_model = f"| `{old[6:]}` of a `[[model]]` | `{new[6:]}` |"
        assert (of_a_model if old.startswith("model.") else f"| `{old}` | `{new}` |") in PAGE


@pytest.mark.parametrize(
    "editor", [{"": {"": {"k": 1}}}, {"model.url": "http://x"}, {"retrieval.k": 1}, {"retrieval": {"": 3}}]
)
def test_a_name_with_a_dot_or_without_a_letter_is_no_setting(tmp_path: Path, editor: dict[str, object]) -> None:
    config, (problem,) = load(tmp_path, editor=editor)
    assert config == Config() and "no such setting" in problem


def test_null_in_an_editors_settings_is_not_set(tmp_path: Path) -> None:
    assert load(tmp_path, editor={"retrieval": None, "log_level": None, "index": {"exclude": None}}) == (Config(), [])


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_KEYS = st.sampled_from(
    ["index", "retrieval", "relations", "model", "k", "call", "alpha", "exclude", "backend", "log_level", "x"]
)


@given(st.dictionaries(_KEYS, _VALUES | st.dictionaries(_KEYS, _VALUES | st.dictionaries(_KEYS, _VALUES)), max_size=5))
@settings(max_examples=100, deadline=None)
def test_no_editor_settings_raise_or_break_a_limit(editor: dict[str, object]) -> None:
    config, problems = load_config(None, editor, user_file=Path(tempfile.gettempdir()) / "no-such-file.toml")
    assert 0 <= config.retrieval.alpha <= 1
    assert not math.isnan(config.retrieval.alpha)
    assert config.model
    assert all(str(problem) for problem in problems)


def test_the_users_file_is_in_the_configuration_folder() -> None:
    assert user_config_file().parts[-2:] == ("weft", "weft.toml")


def test_the_reference_in_the_documentation_is_the_one_that_is_made() -> None:
    assert PAGE.endswith(f"-->\n\n{describe()}")


# --- helper


def load(
    folder: Path, *, user: str = "", workspace: str = "", project: str = "", editor: dict[str, object] | None = None
) -> tuple[Config, list[str]]:
    """The config of the layers given as texts, and its problems with files named by their last part."""
    for name, text in {"user.toml": user, "weft.toml": workspace, "pyproject.toml": project}.items():
        if text:
            (folder / name).write_bytes(text.encode())
    config, problems = load_config(folder, editor, user_file=folder / "user.toml")
    return config, [str(problem).removeprefix(f"{folder}/") for problem in problems]
