"""Messages to customers."""

from __future__ import annotations

from .models import Customer, Order


class Mailer:
    def __init__(self, sender: str) -> None:
        self.sender = sender
        self.sent: list[tuple[str, str, str]] = []

    def send(self, recipient: str, subject: str, body: str) -> None:
        self.sent.append((recipient, subject, body))

    def send_confirmation(self, customer: Customer, order: Order) -> None:
        body = f"Dear {customer.name}, thank you for your order {order.order_id}."
        self.send(customer.email, "Your order", body)

    def send_shipping_notice(self, customer: Customer, order: Order) -> None:
        body = f"Dear {customer.name}, order {order.order_id} is on its way to {customer.address.city}."
        self.send(customer.email, "Your order was shipped", body)

    def send_cancellation(self, customer: Customer, order: Order, refund_cents: int) -> None:
        body = f"Dear {customer.name}, order {order.order_id} is cancelled; you get {refund_cents / 100:.2f} € back."
        self.send(customer.email, "Your order was cancelled", body)
