"""What is read of a manifest? A broken one has one problem and no facts, and is named once in the log."""

import json
import time

import pytest
from weft.codegraph import parse_file
from weft.codegraph.modules import manifest_style, read_manifest


def facts(path: str, text: str) -> dict[str, object]:
    found, problems = read_manifest(path, text)
    assert not problems
    return json.loads(found)


@pytest.mark.parametrize(
    ("path", "style"),
    [
        ("package.json", "web"),
        ("deep/tsconfig.json", "web"),
        ("tsconfig.app.json", "web"),
        ("tsconfig-base.json", "web"),
        ("jsconfig.json", "web"),
        ("deno.jsonc", "web"),
        ("pnpm-workspace.yaml", "web"),
        ("tools/go.mod", "go"),
        ("go.work", "go"),
        ("src/Shop.csproj", "csharp"),
        ("Directory.Build.props", "csharp"),
        ("package-lock.json", ""),
        ("pnpm-lock.yaml", ""),
        ("go.sum", ""),
        ("go.work.sum", ""),
        ("mytsconfig.json", ""),
        ("package.json.bak", ""),
        ("package.json/a.ts", ""),
    ],
)
def test_names_decide_what_is_a_manifest(path, style):
    assert manifest_style(path) == style
    assert style or read_manifest(path, "{") == ("", ())


def test_comments_and_trailing_commas():
    text = '\ufeff{ // a "comment"\n/* and\n "more" */ "name": "a//b", "main": "/* x */",\n'
    text += '"exports": {"./a": ["./b.js", ], }, }'
    assert facts("package.json", text) == {
        "name": "a//b",
        "entries": ["/* x */"],
        "exports": {"./a": ["./b.js"]},
    }


def test_values_of_other_types_are_ignored():
    text = '{"name": 1, "main": ["a"], "exports": {"./a": 5, "b": "c"}, "imports": [], "workspaces": {"packages": 7}}'
    assert facts("package.json", text) == {"entries": ["a"], "exports": {"./a": []}}
    text = '{"extends": 3, "compilerOptions": [], "references": [1, {"path": 2}], "include": "src"}'
    assert facts("tsconfig.json", text) == {"include": ["src"]}


def test_the_usings_of_a_project():
    text = """\ufeff<?xml version="1.0"?>
        <Project Sdk="Microsoft.NET.Sdk">
          <ItemGroup Condition="'$(Kind)' == 'x'">
            <Using Include="Acme.Shops; Acme.Tills" />
            <Using Include="Acme.Prices" Static="true" />
            <Using Include="Acme.Shops" />
            <Using Include="Acme.Long.Name" Alias="Short" />
            <Using Include="$(RootNamespace)" />
            <Using Remove="System.IO" />
          </ItemGroup>
        </Project>"""
    assert facts("Shop.csproj", text) == {"usings": ["Acme.Shops", "Acme.Tills", "Acme.Prices"]}
    assert facts("Shop.csproj", "<Project/>") == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<Project>\n<ItemGroup>", "is not valid XML on line 2"),
        ("", "is not valid XML on line 1"),
        ('<!DOCTYPE a [<!ENTITY b "b">]><Project/>', "contains a document type declaration"),
    ],
)
def test_a_broken_project_has_one_problem(text, reason):
    assert read_manifest("Shop.csproj", text) == (
        "",
        (f"`Shop.csproj` {reason}; its module names are not used. Correct the file.",),
    )


def test_a_go_mod_with_blocks_and_comments():
    text = 'module (\n\t"example.com/m" // here\n)\n\nreplace(\n\ta => ./b\n\tc v1 => ../d v2\n)\n'
    text += "replace e => ../..\nrequire x v1\n"
    assert facts("go.mod", text) == {"module": "example.com/m", "replace": {"a": "./b", "c": "../d", "e": "../.."}}


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a/package.json", '{\n"name": "x",\n"main" "y"\n}', "`a/package.json` is not valid JSON on line 3"),
        ("package.json", '{/*\n\n*/ "a": 1,, }', "`package.json` is not valid JSON on line 3"),
        ("tsconfig.json", '{"a": "b', "`tsconfig.json` is not valid JSON on line 1"),
        ("tsconfig.app.json", "", "`tsconfig.app.json` is not valid JSON on line 1"),
        ("deno.json", "[1]", "`deno.json` contains no JSON object"),
        ("package.json", "[" * 100_000, "`package.json` is nested too deeply"),
        ("package.json", f'{{"a": {"1" * 10_000}}}', "`package.json` is not valid JSON"),
        ("go.mod", "go 1.22\n", "`go.mod` has no `module` line"),
    ],
)
def test_a_broken_manifest_has_one_problem_that_says_what_to_do(path, text, why):
    file = parse_file(path, text)
    assert file.manifest == ""
    assert file.problems == (f"{why}; its module names are not used. Correct the file.",)


def test_the_facts_are_part_of_the_file():
    assert parse_file("package.json", '{"scripts": {}}').manifest == "{}"
    assert json.loads(parse_file("app/go.mod", "module x\n").manifest) == {"module": "x"}
    assert parse_file("data.json", "{").manifest == ""
    assert parse_file("data.json", "{").problems == ()


@pytest.mark.parametrize(
    "text",
    ['"' * 200_000, '"\\"' * 100_000, "/*" * 200_000, "," * 200_000, ", " * 200_000, "{" * 200_000, '{"a":' * 100_000],
)
def test_hostile_texts_take_linear_time(text):
    started = time.perf_counter()
    for path in ("package.json", "pnpm-workspace.yaml", "go.mod"):
        read_manifest(path, text)
    assert time.perf_counter() - started < 2


def test_lone_surrogates_are_data():
    found, problems = read_manifest("package.json", '{"name": "\\ud800"}')
    assert not problems
    assert json.loads(found)["name"] == "\ud800"
    found.encode()
