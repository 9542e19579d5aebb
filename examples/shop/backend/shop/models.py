"""What the shop sells, to whom, and in which orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class OrderStatus(Enum):
    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


@dataclass
class Address:
    street: str
    city: str
    postal_code: str
    country: str


@dataclass
class Customer:
    customer_id: int
    name: str
    email: str
    address: Address
    is_subscribed: bool = False


@dataclass
class Product:
    product_id: int
    title: str
    price_cents: int
    stock: int
    weight_grams: int

    def is_available(self, quantity: int) -> bool:
        return self.stock >= quantity


@dataclass
class OrderLine:
    product: Product
    quantity: int

    def total_cents(self) -> int:
        return self.product.price_cents * self.quantity

    def weight_grams(self) -> int:
        return self.product.weight_grams * self.quantity


@dataclass
class Order:
    order_id: int
    customer: Customer
    created_at: datetime
    lines: list[OrderLine] = field(default_factory=list)
    status: OrderStatus = OrderStatus.PLACED

    def total_cents(self) -> int:
        return sum(line.total_cents() for line in self.lines)

    def weight_grams(self) -> int:
        return sum(line.weight_grams() for line in self.lines)

    def is_open(self) -> bool:
        return self.status in (OrderStatus.PLACED, OrderStatus.PAID)


@dataclass
class Review:
    review_id: int
    product: Product
    customer: Customer
    stars: int
    text: str = ""


@dataclass
class Supplier:
    supplier_id: int
    name: str
    email: str
    address: Address
