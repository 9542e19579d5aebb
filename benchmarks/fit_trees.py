"""Pinned trees that the workspace model and the static vectors are fitted on: releases of packages, and commits.

Owns both lists, the folders of their trees, and the order in which files of a tree are read. No tree is in two lists,
and none is one that a benchmark reports on. Code is read, never run, and none of it is in the repository.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import UserError
from ..server.config import IndexOptions
from ..server.workspace.files import FoundFile, Membership
from .command import say
from .repoeval.archives import ArchiveError, Commit, checkout_commit, unpack_file
from .scorer.samples import MAX_FILE_BYTES, VENDORED

SEED = 0

TOKEN_MODEL, SCORER, SCORER_HELD_OUT = "token model", "scorer", "held out of the scorer"

PACKAGES = {
    TOKEN_MODEL: """
        aiohttp==3.14.5 ansible-core==2.19.14 anyio==4.16.0 apache-airflow-core==3.3.2 black==26.10.1 botocore==1.44.8
        buildbot==4.3.0 dagster==1.13.29 dulwich==1.2.21 ipython==9.18.1 jupyter_server==2.21.1 langchain-core==1.8.4
        litestar==2.25.0 loguru==0.7.3 marshmallow==4.4.0 matplotlib==3.11.2 mkdocs==1.6.1 numpy==2.4.6 openai==3.57.0
        peewee==4.5.3 prefect==3.9.1 salt==3008.5 scikit-image==0.26.0 scipy==1.17.1 Sphinx==9.0.4 statsmodels==0.15.0
        streamlit==1.67.0 sympy==1.14.0 tornado==6.6.1 trio==0.35.0 Twisted==26.10.0 Werkzeug==3.1.9
        """,
    SCORER: """
        accelerate==1.15.0 alembic==1.20.1 bokeh==3.9.2 cattrs==26.2.1 celery==5.7.0 click==8.5.1 dask==2026.8.0
        falcon==4.4.0 fastapi==0.165.0 httpx==0.28.1 huggingface_hub==2.4.0 hypothesis==6.170.17 poetry==2.5.1
        pydantic==2.14.4 pygls==2.1.1 requests==2.34.2 starlette==1.10.0
        """,
    SCORER_HELD_OUT: "rich==15.0.0 Jinja2==3.1.6",
}

COMMITS = {
    TOKEN_MODEL: """
        vuejs/core e2bede96134f757aad5c5b33ac9be055022dbfc8
        reduxjs/redux-toolkit 74200d87c27ca2b1c0915b2fbb4c44dd7494c2aa
        withastro/astro 99d3d3dbbfa4fd7b128a056337f1a719437a7377
        remix-run/react-router cab1a69054aa7dfba08a81b6e4b4d13957c82a38
        date-fns/date-fns dd66398305c2b015fba3c1b3d31ccff42ee8d4cf
        etcd-io/etcd c34dc7ee0048fd2bcc44d50beff002e5e8069b69
        hashicorp/terraform 883c7221ee2e0bc2fad6912fd4b3cc4b53a598a7
        netty/netty 0bb88a3e061f77355627e7fd7fc170ffdada7578
        square/retrofit 0b118105fe8436791436b8bc9c95b9aa2cfd3bdd
        apache/commons-io d83aeb6f4774aee75d857b29fb6cd89132c9a91b
        square/okhttp 1682d9bac8c03dffde2969b0b74d47649d0dbb52
        ktorio/ktor ef92e5537d7465961f1b3f2b21e217fc35bcfa1f
        nunit/nunit 3ca77a27f334fd87eaecc31d909b50cf72a1f20a
        LuckyPennySoftware/MediatR c3e24190017c6c8402efa9c9f285d956b7eef66d
        DapperLib/Dapper 6d48ef664acc7298c649e2d449d903b3360d5a90
        tokio-rs/tokio ea91b33ca57ff0581b38e735cc108f831bccbdaa
        rust-lang/rust-analyzer d2e55da49132fa70a13dfbdc99122432b02cf464
        redis/redis 4f8cdc2a1ea53e42955af758aabffee67cb455dd
        catchorg/Catch2 a6ee7e20cd4011129816df7992c1a9db2ef4b58f
        google/leveldb 78a352f47ed6c1e9d750545e9b242289185b87e1
        rails/rails 2a2db1e8d6d104ee0611efcae7eb023af65cff34
        laravel/framework bd71b45fbb7e672957bf6ff61baddefe15fbca6a
        vapor/vapor 13efaeefd52a965009fc6a69a96ba66e7f20402e
        playframework/playframework 1a666e1866bfe54b166cfa8689f7c9d56e1b2224
        reactive-streams/reactive-streams-jvm a625d3aba756e9842ad1291a5b73f5db280b6168
        """,
    SCORER: """
        honojs/hono 28a9c128912de19f3fb28b00ae289c9b93f6f392
        vitejs/vite a98c8d95d552c6fa98ab66fb810f5b39ad5abf49
        gin-gonic/gin dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9
        gitleaks/gitleaks b58d3f102cf3a2c84cb7f923d05c25c9b1aed84b
        apache/commons-lang d15939ef46f0bd4144994df8be95cf5a7f91eb52
        InsertKoinIO/koin fff5291f333c04fe5d6d9447f72740647d40d186
        serilog/serilog 60935b4d7abad71cf6157b45a10f5c3c65ead527
        AutoMapper/AutoMapper 4b9633f60ee386cf0efc69b967e04fa28405cf3e
        BurntSushi/ripgrep 3fce3b5bb0236da2df6d99672afb8a719642eca7
        fmtlib/fmt 60ccad511fd680cb91d8b60a315759f71c67bef9
        jqlang/jq 579e6f76cffd7643ba4002a2c3618a5ea710589a
        heartcombo/devise 7ca7ed9c174525a4d36167441b35af4a0991b6af
        """,
    SCORER_HELD_OUT: """
        trpc/trpc 340811ba5320637fbaf48fccf3dbfdd258bd34db
        cli/cli 44ee17760709bedf1cad7e452e61751489b81a33
        tokio-rs/axum 3d78036dcac289d6c1d54934708acb6a5bd73686
        """,
}


def requirements(use: str) -> list[str]:
    return PACKAGES[use].split()


def commits(use: str) -> list[Commit]:
    words = COMMITS[use].split()
    return [
        Commit(name.rpartition("/")[2], f"https://github.com/{name}", sha, "", "fit")
        for name, sha in zip(words[::2], words[1::2], strict=True)
    ]


def chosen_trees(options: argparse.Namespace, *uses: str) -> tuple[list[Path], list[Path]]:
    """The trees to fit on, pinned ones of these uses or named ones, and those that are held out. Raises UserError."""
    if options.pinned:
        fitted_on = [tree for use in uses for tree in pinned_trees(use, options.work)]
        return fitted_on, pinned_trees(SCORER_HELD_OUT, options.work)
    for tree in (*options.fit, *options.held_out):
        if not tree.is_dir():
            raise UserError(f"{tree} is no folder. Name folders of code.")
    return [tree.resolve() for tree in options.fit], [tree.resolve() for tree in options.held_out]


def without_held_out(trees: Sequence[Path], held_out: Sequence[Path]) -> list[Path]:
    """The trees that are not held out, under this path or another."""
    names = {tree.resolve().name for tree in held_out}
    for tree in trees:
        if tree.name in names:
            say(f"{tree}: not fitted on, because a tree of this name is held out")
    return [tree for tree in trees if tree.name not in names]


def pinned_trees(use: str, work: Path) -> list[Path]:
    """The folders of the trees of a use, fetched when they are missing. Raises ArchiveError."""
    packages = [_package_tree(requirement, work) for requirement in requirements(use)]
    return [*packages, *(checkout_commit(commit, work) for commit in commits(use))]


def _package_tree(requirement: str, work: Path) -> Path:
    tree = work / "trees" / requirement.partition("==")[0].lower()
    if tree.is_dir():
        return tree
    say(f"downloading {requirement}")
    folder = work / "downloads" / requirement
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), requirement], capture_output=True, text=True)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ArchiveError(f"pip failed to download `{requirement}`: {reason[0]}. Put its code into {tree}.")
    unpack_file(wheels[0], tree, (".py",), is_wheel=True)
    shutil.rmtree(folder)
    return tree


def shuffled_files(tree: Path, options: IndexOptions, is_wanted: Callable[[str], bool]) -> list[FoundFile]:
    """The files of a tree with a wanted path, shuffled, without vendored folders and large files."""
    files = (each for each in Membership(tree, options).walk() if is_wanted(each.path))
    own = (e for e in files if e.size <= MAX_FILE_BYTES and VENDORED.isdisjoint(e.path.split("/")[:-1]))
    found = sorted(own, key=lambda each: each.path)
    random.Random(f"{SEED}:{tree.name}").shuffle(found)
    return found
