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
        ("build/compile_commands.json", "include"),
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


def test_the_include_directories_of_all_commands():
    commands = [
        {
            "directory": "/home/me/shop/build",
            "command": r"""/usr/bin/c++ -DNAME=\"-Inone\" -I../include -I /home/me/shop/src/./deep
                -isystem/usr/include/x -iquote "/home/me/shop/with space"
                "-I/home/me/my shop" -I/a\ b -I=/sysroot -include all.h -o x.o""",
            "file": "../src/a.cc",
        },
        {
            "directory": "/home/me/shop",
            "arguments": ["cc", "-Iinclude", "-isystem", "third", "-I", "/opt/x", "-iquotesrc", "-c", "/home/me/b.c"],
            "command": "cc -Iunread",
            "file": "/home/me/b.c",
        },
        {"directory": r"C:\shop", "command": r"cl -IC:\shop\include -I..\other", "file": r"src\a.cc"},
        {"directory": "src", "arguments": ["cc", "-I.", "-I.."], "file": "c.c"},
    ]
    assert facts("build/compile_commands.json", json.dumps(commands)) == {
        "directories": [
            *("/home/me/shop/include", "/home/me/shop/src/deep", "/usr/include/x", "/home/me/shop/with space"),
            *("/home/me/my shop", "/a b", "/home/me/shop/third", "/opt/x", "/home/me/shop/src"),
            *("C:/shop/include", "C:/other", "src", "."),
        ],
        "files": ["/home/me/shop/src/a.cc", "/home/me/b.c", "C:/shop/src/a.cc", "src/c.c"],
    }
    assert (
        facts("compile_commands.json", '[1, {"command": 2, "arguments": [3, "-I"], "directory": [], "file": {}}]') == {}
    )


def test_the_facts_of_many_commands_are_few():
    commands = [{"directory": "/d", "command": f"cc -Isrc -Isrc/{i}", "file": f"{i}.c"} for i in range(5000)]
    found = facts("compile_commands.json", json.dumps(commands))
    assert found["directories"] == ["/d/src", *(f"/d/src/{i}" for i in range(499))]
    assert found["files"] == [f"/d/{i}.c" for i in range(0, 5000, 50)]
    text = json.dumps([{"directory": "/d", "command": "cc " + "-DNAME=value " * 100, "file": "a.c"}] * 8000)
    started = time.perf_counter()
    _, (problem,) = read_manifest("compile_commands.json", text)
    assert time.perf_counter() - started < 0.1
    assert problem.startswith("`compile_commands.json` is longer than 10,000,000 characters")


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
        ("compile_commands.json", "{}", "`compile_commands.json` contains no JSON list"),
        ("compile_commands.json", "[\n{]", "`compile_commands.json` is not valid JSON on line 2"),
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
    for path in ("package.json", "pnpm-workspace.yaml", "go.mod", "compile_commands.json"):
        read_manifest(path, text)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "command", ["-I", " -I", ' "-I', " '-I", ' -I"', " -I'", " -I ", " ", "\\", ' -I\\"', "-I \\\n"]
)
def test_hostile_commands_take_linear_time(command):
    text = json.dumps([{"directory": "/d", "command": command * 100_000, "file": "a.c"}])
    started = time.perf_counter()
    read_manifest("compile_commands.json", text)
    assert time.perf_counter() - started < 2


def test_lone_surrogates_are_data():
    found, problems = read_manifest("package.json", '{"name": "\\ud800"}')
    assert not problems
    assert json.loads(found)["name"] == "\ud800"
    found.encode()
