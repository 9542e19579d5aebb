"""Write `memory-<version>.db` beside this file: what a store of the version of today looks like.

Run it once for each new version, and never again: the samples of past versions prove that their files still open.
"""

from pathlib import Path

from weft.memory import Segment
from weft.memory.storage import Conversation, MemoryStore, StoredDocument, Turn
from weft.memory.storage.migrations import VERSION

if __name__ == "__main__":
    path = Path(__file__).with_name(f"memory-{VERSION}.db")
    assert not path.exists(), f"{path} is a sample of a past version"
    store = MemoryStore(path)
    turns = [
        Turn("c1", 0, "Wo steht die Größe?", 100.0, "In shop.py.", 101.0, "m", ({"place": "shop.py:1-2"},), ("why",)),
        Turn("c1", 1, "And 价格?", 102.0, asked_as="Where is `价格`?"),
    ]
    store.conversations.add([(Conversation("c1", "Größe", "/shop", 99.0, 102.0, 2), turns)])
    segments = (
        Segment("guide.md", 0, "# Guide\n\nAll of it.\n", title="Guide"),
        Segment("guide.md", 1, "## Install\nAll of it.\n", 20, 3, title="Guide > Install"),
    )
    store.documents.put_all([StoredDocument("/shop/guide.md", "h1", "markdown", 103.0, segments)])
    store.cache.put("segment_plus.note", "k1", {"quotes": ["one"], "n": 1.5})
    store.vectors.put("hashing", {"k1": bytes(range(8))})
    store.close()
