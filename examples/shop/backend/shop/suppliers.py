"""Suppliers of the shop, in memory."""

from __future__ import annotations

from .models import Supplier


class SupplierRepository:
    def __init__(self) -> None:
        self._suppliers: dict[int, Supplier] = {}

    def add(self, supplier: Supplier) -> None:
        self._
