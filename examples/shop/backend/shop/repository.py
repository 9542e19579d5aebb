"""Stores of products, customers, orders and reviews, in memory."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import NotFound
from .models import Customer, Order, Product, Review


class ProductRepository:
    def __init__(self) -> None:
        self._products: dict[int, Product] = {}

    def add(self, product: Product) -> None:
        self._products[product.product_id] = product

    def find(self, product_id: int) -> Product:
        if product_id not in self._products:
            raise NotFound("product", product_id)
        return self._products[product_id]

    def all_available(self) -> Iterator[Product]:
        return (product for product in self._products.values() if product.stock > 0)


class CustomerRepository:
    def __init__(self) -> None:
        self._customers: dict[int, Customer] = {}

    def add(self, customer: Customer) -> None:
        self._customers[customer.customer_id] = customer

    def find(self, customer_id: int) -> Customer:
        if customer_id not in self._customers:
            raise NotFound("customer", customer_id)
        return self._customers[customer_id]

    def remove(self, customer_id: int) -> None:
        if customer_id not in self._customers:
            raise NotFound("customer", customer_id)
        del self._customers[customer_id]


class OrderRepository:
    def __init__(self) -> None:
        self._orders: dict[int, Order] = {}

    def add(self, order: Order) -> None:
        self._orders[order.order_id] = order

    def find(self, order_id: int) -> Order:
        if order_id not in self._orders:
            raise NotFound("order", order_id)
        return self._orders[order_id]

    def of_customer(self, customer: Customer) -> list[Order]:
        return [order for order in self._orders.values() if order.customer is customer]


class ReviewRepository:
    def __init__(self) -> None:
        self._reviews: dict[int, Review] = {}

    def add(self, review: Review) -> None:
        self._reviews[review.review_id] = review

    def find(self, review_id: int) -> Review:
        if review_id not in self._reviews:
            raise NotFound("review", review_id)
        return self._reviews[review_id]

    def remove(self, review_id: int) -> None:
        if review_id not in self._reviews:
            raise NotFound("review", review_id)
        del self._reviews[review_id]

    def of_product(self, product: Product) -> list[Review]:
        return [review for review in self._reviews.values() if review.product is product]
