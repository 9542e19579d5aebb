"""The cache that is limited by bytes."""

from weft.codegraph.sized_cache import SizedCache


def test_the_least_recently_used_values_are_dropped_first():
    cache = SizedCache(30)
    for name in "abc":
        cache.put(name, name.upper(), 10)
    assert cache.get("a") == "A"
    cache.put("d", "D", 10)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    assert cache.n_bytes == 30


def test_the_latest_value_is_kept_whatever_its_size():
    cache = SizedCache(30)
    cache.put("a", "A", 10)
    cache.put("b", "B", 1000)
    assert [cache.get(name) for name in "ab"] == [None, "B"]
    cache.put("c", "C", 5)
    assert [cache.get(name) for name in "bc"] == [None, "C"]


def test_a_replaced_value_is_counted_once_and_all_can_be_forgotten():
    cache = SizedCache(30)
    cache.put("a", "A", 10)
    cache.put("a", "other", 20)
    assert (cache.get("a"), cache.n_bytes) == ("other", 20)
    cache.clear()
    assert (cache.get("a"), cache.n_bytes) == (None, 0)
