/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** By `provider/model`, as the settings have them. */
export type Prices = Readonly<Record<string, Price>>;

export function priceIn(prices: Prices, ref: string): Price | null {
  return (Object.hasOwn(prices, ref) && prices[ref]) || null;
}

/** Dollars; null: the price is not known. */
export function costOf(used: { readonly inputTokens: number; readonly outputTokens: number }, price: Price | null): number | null {
  return price && (used.inputTokens * price.input + used.outputTokens * price.output) / 1_000_000;
}
