export interface Product {
  productId: number;
  title: string;
  priceCents: number;
  stock: number;
}

export interface CartLine {
  product: Product;
  quantity: number;
}

export interface Customer {
  customerId: number;
  name: string;
  email: string;
  isSubscribed: boolean;
}

export type OrderStatus = "placed" | "paid" | "shipped" | "cancelled";

export interface Order {
  orderId: number;
  customer: Customer;
  lines: CartLine[];
  status: OrderStatus;
  totalCents: number;
}

export interface Review {
  reviewId: number;
  product: Product;
  customer: Customer;
  stars: number;
  text: string;
}

export interface Invoice {
  invoiceId: number;
  order: Order;
  totalCents: number;
  isPaid: boolean;
}
