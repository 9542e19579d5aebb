import { CartLine, Product } from "./types";

export class Cart {
  readonly lines: CartLine[] = [];

  addProduct(product: Product, quantity: number): void {
    const line = this.findLine(product.productId);
    if (line) {
      line.quantity += quantity;
    } else {
      this.lines.push({ product, quantity });
    }
  }

  removeProduct(productId: number): void {
    const index = this.lines.findIndex((line) => line.product.productId === productId);
    if (index >= 0) {
      this.lines.splice(index, 1);
    }
  }

  findLine(productId: number): CartLine | undefined {
    return this.lines.find((line) => line.product.productId === productId);
  }

  totalCents(): number {
    return this.lines.reduce((sum, line) => sum + line.product.priceCents * line.quantity, 0);
  }

  isEmpty(): boolean {
    return this.lines.length === 0;
  }

  quantities(): Map<number, number> {
    return new Map(this.lines.map((line) => [line.product.productId, line.quantity]));
  }
}
