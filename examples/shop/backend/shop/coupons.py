"""Coupons of the shop, in memory."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import NotFound


@dataclass
class Coupon:
    coupon_id: int
    percent: int


class CouponRepository:
    def __init__(self) -> None:
        self._coupons: dict[int, Coupon] = {}

    def find(self, coupon_id: int) -> Coupon:
        if c
