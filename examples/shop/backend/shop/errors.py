"""Errors that a client of the shop can act on."""


class ShopError(Exception):
    """Base of all errors of the shop."""


class NotFound(ShopError):
    def __init__(self, kind: str, identifier: int) -> None:
        super().__init__(f"There is no {kind} {identifier}.")
        self.kind = kind
        self.identifier = identifier


class OutOfStock(ShopError):
    def __init__(self, title: str, wanted: int, stock: int) -> None:
        super().__init__(f"{wanted} x {title} were ordered, {stock} are in stock.")


class OrderClosed(ShopError):
    def __init__(self, order_id: int) -> None:
        super().__init__(f"Order {order_id} can't be changed any more.")
