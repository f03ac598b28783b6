/** How much of `all` each of `sizes` may have: who wants no more than an equal share has it whole, the others share what is left. */
export function fairShares(sizes: readonly number[], all: number): readonly number[] {
  const shares = sizes.map(() => 0);
  let left = all;
  const bySize = sizes.map((size, at) => ({ size, at })).sort((a, b) => a.size - b.size);
  for (const [taken, { size, at }] of bySize.entries()) {
    shares[at] = Math.min(size, Math.floor(left / (bySize.length - taken)));
    left -= shares[at];
  }
  return shares;
}
