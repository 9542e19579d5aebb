"""Formats of prompts, letter by letter, and how the format of a model is found by its tokens.

The prompts are in `golden/prompts`. After a change that is meant, write them anew and review the difference:

    WEFT_GOLDEN=write python -m pytest -c tests/pytest.ini tests/test_llm_formats.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from weft.llm.prompting.formats import FIM_FORMATS, FimChoice, FimTokens, find_fim_tokens
from weft.llm.prompting.prompts import build_prompt
from weft.llm.protocol import CompletionRequest, ModelMissing, PromptFragment

GOLDEN = Path(__file__).parent / "golden" / "prompts"

REQUEST = CompletionRequest(
    path="src/café.py",
    language="python",
    prefix='from price import total\r\n\r\n\r\ndef pay(items):\r\n    """Löhne: “<fim_middle>” 🙂"""\r\n    return tot',
    suffix="\r\n\r\n\r\nif __name__ == '__main__':\r\n    pay([1])\r\n",
    fragments=(
        PromptFragment(("src/price.py", "copy/price.py"), "def total(items):\r\n\r\n    return sum(items)\r\n", 3, 2.0),
        PromptFragment(("src/lärm.py",), "noise = '€'", 0, 1.0),
    ),
    repository="market",
)

PROMPTS: dict[str, FimTokens | None] = {
    **FIM_FORMATS,
    "none": None,
    "custom": FimTokens("<before>", "<after>", "<between>"),
    "custom-suffix-first": FimTokens("<before>", "<after>", suffix_first=True),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_the_reviewed_one(name: str):
    prompt = build_prompt(REQUEST, PROMPTS[name], len, 10_000)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("WEFT_GOLDEN") == "write":
        file.write_text(prompt.text, encoding="utf-8", newline="")
    assert prompt.text == file.read_bytes().decode("utf-8")


def test_every_reviewed_prompt_is_of_a_format():
    assert {file.stem for file in GOLDEN.iterdir()} == set(PROMPTS)


@pytest.mark.parametrize("name", FIM_FORMATS)
def test_only_tokens_of_the_format_are_special(name: str):
    fim = FIM_FORMATS[name]
    parts = build_prompt(REQUEST, fim, len, 10_000).parts
    written = [part.text for part in parts if part.special]
    assert set(written) == {*fim.frame, *filter(None, (fim.repository, fim.file))}
    assert sum(token in fim.frame for token in written) == len(fim.frame), "letters in the code stay letters"


def test_the_space_of_sentencepiece_stands_before_a_text_only():
    request = CompletionRequest("a.py", "python", "x", "y")
    assert build_prompt(request, FIM_FORMATS["codellama"], len, 1000).text == "▁<PRE> x▁<SUF>y▁<MID>"
    request = CompletionRequest("a.py", "python", "", "y")
    assert build_prompt(request, FIM_FORMATS["codellama"], len, 1000).text == "▁<PRE>▁<SUF>y▁<MID>"


def test_without_a_name_the_repository_is_not_mentioned():
    request = CompletionRequest("a.py", "python", "x", "y")
    assert build_prompt(request, FIM_FORMATS["qwen"], len, 1000).text == (
        "<|file_sep|>a.py\n<|fim_prefix|>x<|fim_suffix|>y<|fim_middle|>"
    )


# Special tokens of each family as its files, its card or the clients that use it name them, without long tails that
# say nothing about prompts.
FAMILIES: dict[str, tuple[str, str]] = {
    # tokenizer_config.json of Qwen2.5-Coder-7B
    "Qwen2.5-Coder": (
        "qwen",
        "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|box_start|> <|vision_start|> <|image_pad|> "
        "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|>",
    ),
    # tokenizer_config.json of Qwen3-Coder-30B-A3B-Instruct
    "Qwen3-Coder": (
        "qwen",
        "<|endoftext|> <|im_start|> <|im_end|> <tool_call> <tool_response> <think> </think> "
        "<|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|>",
    ),
    # special_tokens_map.json of starcoder2-15b
    "StarCoder2": (
        "starcoder2",
        "<|endoftext|> <fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <repo_name> <file_sep> <issue_start> "
        "<issue_comment> <issue_closed> <jupyter_start> <jupyter_text> <jupyter_code> <jupyter_output> "
        "<jupyter_script> <empty_output> <code_to_intermediate> <intermediate_to_code> <pr> <pr_status>",
    ),
    # special_tokens_map.json of starcoder; Granite Code has the same
    "StarCoder": (
        "starcoder",
        "<|endoftext|> <fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <filename> <gh_stars> <issue_start> "
        "<issue_comment> <issue_closed> <jupyter_start> <jupyter_text> <jupyter_code> <jupyter_output> "
        "<empty_output> <commit_before> <commit_msg> <commit_after> <reponame>",
    ),
    # what the card of stable-code-3b shows
    "Stable Code": ("starcoder", "<|endoftext|> <fim_prefix> <fim_middle> <fim_suffix> <fim_pad>"),
    # special_tokens_map.json of santacoder
    "SantaCoder": ("santacoder", "<|endoftext|> <fim-prefix> <fim-middle> <fim-suffix> <fim-pad>"),
    # tokenizer_config.json of granite-3.3-8b-base
    "Granite 3.3": (
        "granite3",
        "<|end_of_text|> <fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <filename> <gh_stars> <issue_start> "
        "<commit_before> <reponame> <|start_of_role|> <|end_of_role|> <|tool_call|>",
    ),
    # tokenizer_config.json of granite-4.0-h-tiny
    "Granite 4": (
        "granite",
        "<|pad|> <|end_of_text|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|filename|> <|reponame|> "
        "<|start_of_role|> <|end_of_role|> <tool_call> </tool_call>",
    ),
    # special_tokens_map.json of Mellum-4b-base
    "Mellum": (
        "mellum",
        "<|endoftext|> <fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <filename> <reponame> <gh_stars> "
        "<commit_before> <commit_msg> <commit_after> <issue_start> <jupyter_start> <empty_output> "
        "<system> </system> <user> </user> <assistant> </assistant> <think> </think>",
    ),
    # tokenizer.json of deepseek-coder-6.7b-base; V2 Lite has these and more
    "DeepSeek-Coder": (
        "deepseek",
        "<｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜fim▁hole｜> <｜fim▁begin｜> <｜fim▁end｜> <pad> <|EOT|>",
    ),
    # tokenizer_config.json of CodeLlama-7b-hf
    "CodeLlama": ("codellama", "<unk> <s> </s> ▁<SUF> ▁<PRE> ▁<MID> ▁<EOT>"),
    # CodeGemma formatting on ai.google.dev
    "CodeGemma": (
        "codegemma",
        "<pad> <eos> <bos> <unk> <|fim_prefix|> <|fim_suffix|> <|fim_middle|> <|file_separator|> <start_of_turn>",
    ),
    # control tokens of mistral-common's third tokenizer
    "Codestral": ("codestral", "<unk> <s> </s> [INST] [/INST] [TOOL_CALLS] [PREFIX] [MIDDLE] [SUFFIX]"),
    # tokenizer_config.json of Seed-Coder-8B-Base
    "Seed-Coder": (
        "seed-coder",
        "<[begin▁of▁sentence]> <[end▁of▁sentence]> <[fim-prefix]> <[fim-middle]> <[fim-suffix]>",
    ),
    # the tokens of cl100k_base, which several general models take over
    "cl100k": ("fim", "<|endoftext|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|endofprompt|>"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_known_by_its_tokens(family: str):
    name, tokens = FAMILIES[family]
    assert find_fim_tokens({*tokens.split(), "def", "return"}) is FIM_FORMATS[name]


def test_each_format_belongs_to_a_family():
    assert {name for name, _ in FAMILIES.values()} == set(FIM_FORMATS)


@pytest.mark.parametrize(
    "tokens",
    [
        "def <|fim_prefix|>",
        "<fim_prefix> <fim_suffix>",
        # SmolLM2 has tokens of files, but none of a middle
        "<|endoftext|> <|im_start|> <repo_name> <reponame> <file_sep> <filename> <gh_stars>",
        "",
    ],
)
def test_a_vocabulary_without_such_tokens_fills_no_middle(tokens: str):
    assert find_fim_tokens(set(tokens.split())) is None


def test_what_the_user_chose_is_taken_if_the_model_has_it():
    starcoder = FIM_FORMATS["starcoder"]
    starcoder2 = set(FAMILIES["StarCoder2"][1].split())
    assert FimChoice().tokens_in(starcoder2) is FIM_FORMATS["starcoder2"]
    assert FimChoice("tokens", starcoder).tokens_in(starcoder2) is starcoder
    assert FimChoice("none").tokens_in(starcoder2) is None
    with pytest.raises(ModelMissing, match=r"no token <\|fim_prefix\|>.*Leave `fim` empty"):
        FimChoice("tokens", FIM_FORMATS["qwen"]).tokens_in(starcoder2)
