"""A small shop that `weft serve --http` serves, for the tests of HTTP clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from weft.server.config import Config
from weft.server.http_api.serve import serve_http
from weft.server.workspace.workspace import Workspace

TOKEN = "a-token-that-is-long-enough-for-tests"

CART = '''\
"""Carts of customers."""

from prices import price_of


class Cart:
    def __init__(self, customer):
        self.customer = customer
        self.articles = []

    def add_article(self, article, amount):
        self.articles.append((article, amount))

    def total_price(self):
        return sum(price_of(article) * amount for article, amount in self.articles)

    def total_weight(self):
        return sum(article.weight * amount for article, amount in self.articles)
'''

PRICES = '''\
"""Prices of articles."""

PRICE_LIST = {}


def price_of(article):
    return PRICE_LIST[article.number]


def set_price_of(article, price):
    PRICE_LIST[article.number] = price
'''

SHOP_TS = """\
export function formatPrice(cents: number): string {
  return (cents / 100).toFixed(2);
}

export function formatAmount(amount: number): string {
  return amount.toString().padStart(3);
}
"""

# Half-typed code of cart.py: a third method that sums over the articles.
BEFORE = CART + "\n    def total_amount(self):\n        return sum(amount for article, amount in self.art"
EXPECTED = "icles"


@contextmanager
def shop(folder: Path) -> Iterator[Workspace]:
    """The indexed workspace, in a new folder."""
    (folder / "web").mkdir(parents=True)
    (folder / "cart.py").write_text(CART)
    (folder / "prices.py").write_text(PRICES)
    (folder / "web" / "format.ts").write_text(SHOP_TS)
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        yield workspace


@contextmanager
def running(workspace: Workspace) -> Iterator[str]:
    """The address of a real server on a free port of this machine."""
    listening, found = threading.Event(), list[str]()

    def tell(host: str, port: int) -> None:
        found.append(f"http://{host}:{port}")
        listening.set()

    # A daemon: uvicorn ends with the process, and handles no signals outside of the main thread.
    threading.Thread(target=serve_http, args=(workspace, "127.0.0.1", 0, TOKEN, tell), daemon=True).start()
    assert listening.wait(20)
    yield found[0]


def post(address: str, path: str, body: object, token: str = TOKEN) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.post(address + path, json=body, headers=headers, timeout=30)
