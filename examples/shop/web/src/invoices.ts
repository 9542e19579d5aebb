import { Invoice } from "./types";

export class InvoiceClient {
  constructor(private readonly baseUrl: string) {}

  async fetchInvoice(invoiceId: number): Promise
