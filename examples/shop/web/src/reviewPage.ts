import { ShopClient } from "./client";
import { formatOrder } from "./format";

export class ReviewPage {
  constructor(private readonly client: ShopClient) {}

  async showOrder(orderId: number): Promise<string> {
    const order = await this.client.fetchOrder(orderId);
    return formatOrder(order);
  }

  async showReview(reviewId: number): Promise<string> {
    const review = 
