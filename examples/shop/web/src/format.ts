import { CartLine, Order, OrderStatus } from "./types";

export function formatPrice(cents: number): string {
  return `${(cents / 100).toFixed(2)} €`;
}

export function formatLine(line: CartLine): string {
  return `${line.quantity} x ${line.product.title}: ${formatPrice(line.product.priceCents * line.quantity)}`;
}

export function formatOrder(order: Order): string {
  return [`Order ${order.orderId}`, ...order.lines.map(formatLine), formatPrice(order.totalCents)].join("\n");
}

export function statusLabel(status: OrderStatus): string {
  switch (status) {
    case "placed":
      return "Waiting for payment";
    case "paid":
      return "Being packed";
    case "shipped":
      return "On its way";
    case "cancelled":
      return "Cancelled";
  }
}
