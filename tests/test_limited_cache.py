"""The cache by identity: what is memoised, what is dropped, and that it keeps nothing alive."""

import gc
from weakref import ref

from weft.codegraph import file_graph, parse_file
from weft.codegraph.limited_cache import LimitedCache


class Owner:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def cache_of(made: list[str], limit_bytes: int = 30) -> LimitedCache[Owner, str]:
    def make(owner: Owner) -> str:
        made.append(owner.name)
        return owner.name.upper()

    return LimitedCache(make, lambda owner: 10, limit_bytes)


def test_values_are_found_by_identity_and_the_least_recently_used_is_dropped():
    made: list[str] = []
    cache = cache_of(made)
    owners = [Owner(name) for name in "abcd"]
    assert [cache(owner) for owner in owners[:3]] == ["A", "B", "C"]
    cache(owners[0])
    cache(owners[3])  # drops b, which was not used for longest
    assert [cache(owner) for owner in (owners[0], owners[2], owners[3], owners[1])] == ["A", "C", "D", "B"]
    assert made == ["a", "b", "c", "d", "b"]


def test_a_value_above_the_limit_is_kept_until_the_next():
    made: list[str] = []
    cache = cache_of(made, limit_bytes=5)
    first, second = Owner("a"), Owner("b")
    for owner in (first, first, second, first):
        cache(owner)
    assert made == ["a", "b", "a"]


def test_an_object_is_not_kept_alive_and_its_number_is_no_key_of_another():
    made: list[str] = []
    cache = cache_of(made)
    for name in "abcdefgh":  # new objects often have the address of the last one
        owner = Owner(name)
        assert cache(owner) == name.upper()
        alive = ref(owner)
        del owner
        gc.collect()
        assert alive() is None


def test_cleared_values_are_made_again():
    made: list[str] = []
    cache = cache_of(made)
    owner = Owner("a")
    cache(owner)
    cache.clear()
    assert cache(owner) == "A"
    assert made == ["a", "a"]


def test_a_file_finds_its_records_after_they_were_dropped(monkeypatch):
    for cache in (file_graph._outline, file_graph._single_definitions, file_graph._calls):
        monkeypatch.setattr(cache, "_limit_bytes", 1)
    files = [parse_file(f"f{i}.py", f"import os\ndef made_{i}():\n    os.getcwd()\n") for i in range(3)]
    for _ in range(2):
        for i, file in enumerate(files):
            assert [found.name for found in file.definitions] == [f"made_{i}"]
            assert file.definition(f"made_{i}") == file.definitions[0]
            assert file.definition("missing") is None
            assert [call.callee for call in file.calls] == ["os.getcwd"]
