from datetime import datetime

from shop.mail import Mailer
from shop.models import Address, Customer, Order, OrderLine, OrderStatus, Product
from shop.orders import OrderService
from shop.payments import PaymentGateway
from shop.repository import OrderRepository, ProductRepository


def make_customer() -> Customer:
    return Customer(7, "Mira Holt", "mira@example.org", Address("Hafenweg 3", "Kiel", "24103", "DE"))


def make_service() -> OrderService:
    products = ProductRepository()
    products.add(Product(1, "Desk lamp", 4900, 3, 1200))
    return OrderService(products, OrderRepository(), PaymentGateway(), Mailer("shop@example.org"))


def test_place_reduces_the_stock():
    service = make_service()
    order = service.place(make_customer(), {1: 2})
    assert service.products.find(1).stock == 1
    assert order.total_cents() == 9800


def test_pay_charges_the_total():
    service = make_service()
    order = service.place(make_customer(), {1: 1})
    service.pay(order.order_id, "card")
    assert order.status is OrderStatus.PAID
    assert service.payments.balance_cents(order) == 4900


def test_weight_counts_every_piece():
    product = Product(2, "Chair", 12900, 5, 6500)
    order = Order(1, make_customer(), datetime(2026, 1, 5), [OrderLine(product, 2)])
    assert order.weight_grams() == 13000
