import { Customer, Order, Product, Review } from "./types";

export class ShopClient {
  constructor(private readonly baseUrl: string) {}

  async fetchProduct(productId: number): Promise<Product> {
    const response = await fetch(`${this.baseUrl}/products/${productId}`);
    return response.json();
  }

  async fetchCustomer(customerId: number): Promise<Customer> {
    const response = await fetch(`${this.baseUrl}/customers/${customerId}`);
    return response.json();
  }

  async fetchOrder(orderId: number): Promise<Order> {
    const response = await fetch(`${this.baseUrl}/orders/${orderId}`);
    return response.json();
  }

  async fetchReview(reviewId: number): Promise<Review> {
    const response = await fetch(`${this.baseUrl}/reviews/${reviewId}`);
    return response.json();
  }

  async placeOrder(customer: Customer, quantities: Map<number, number>): Promise<Order> {
    const body = JSON.stringify({ customerId: customer.customerId, quantities: [...quantities] });
    const response = await fetch(`${this.baseUrl}/orders`, { method: "POST", body });
    return response.json();
  }

  async payOrder(orderId: number, method: string): Promise<Order> {
    const body = JSON.stringify({ method });
    const response = await fetch(`${this.baseUrl}/orders/${orderId}/payments`, { method: "POST", body });
    return response.json();
  }
}
