"""Payments: charges and refunds, with a ledger."""

from __future__ import annotations

from dataclasses import dataclass

from .models import Order


@dataclass
class Payment:
    order_id: int
    amount_cents: int
    method: str


class PaymentGateway:
    def __init__(self) -> None:
        self.ledger: list[Payment] = []

    def charge(self, order: Order, method: str) -> Payment:
        payment = Payment(order.order_id, order.total_cents(), method)
        self.ledger.append(payment)
        return payment

    def refund(self, order: Order, amount_cents: int) -> Payment:
        payment = Payment(order.order_id, -amount_cents, "refund")
        self.ledger.append(payment)
        return payment

    def balance_cents(self, order: Order) -> int:
        return sum(payment.amount_cents for payment in self.ledger if payment.order_id == order.order_id)
