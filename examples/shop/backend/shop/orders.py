"""The life of an order: placed, paid, shipped or cancelled."""

from __future__ import annotations

from datetime import datetime

from .errors import OrderClosed, OutOfStock
from .mail import Mailer
from .models import Customer, Order, OrderLine, OrderStatus
from .payments import PaymentGateway
from .repository import OrderRepository, ProductRepository


class OrderService:
    def __init__(
        self, products: ProductRepository, orders: OrderRepository, payments: PaymentGateway, mailer: Mailer
    ) -> None:
        self.products = products
        self.orders = orders
        self.payments = payments
        self.mailer = mailer
        self._next_id = 1

    def place(self, customer: Customer, quantities: dict[int, int]) -> Order:
        order = Order(self._next_id, customer, datetime.now())
        for product_id, quantity in quantities.items():
            product = self.products.find(product_id)
            if not product.is_available(quantity):
                raise OutOfStock(product.title, quantity, product.stock)
            product.stock -= quantity
            order.lines.append(OrderLine(product, quantity))
        self._next_id += 1
        self.orders.add(order)
        self.mailer.send_confirmation(customer, order)
        return order

    def pay(self, order_id: int, method: str) -> Order:
        order = self.orders.find(order_id)
        if not order.is_open():
            raise OrderClosed(order_id)
        self.payments.charge(order, method)
        order.status = OrderStatus.PAID
        return order

    def ship(self, order_id: int) -> Order:
        order = self.orders.find(order_id)
        if not order.is_open():
            raise OrderClosed(order_id)
        order.status = OrderStatus.SHIPPED
        self.mailer.send_shipping_notice(order.customer, order)
        return order
