/** A measure of things, and how much of it there may be in all. */
export interface Bound<Item> {
  readonly all: number;
  of(item: Item): number;
}

/** What is left of each group so that all bounds hold: who has little keeps it, whatever others bring, and the first of a group go first. */
export function withinBounds<Item>(groups: readonly (readonly Item[])[], bounds: readonly Bound<Item>[]): readonly (readonly Item[])[] {
  return bounds.reduce((kept, { all, of }) => {
    const shares = fairShares(
      kept.map((group) => group.reduce((sum, item) => sum + of(item), 0)),
      all,
    );
    return kept.map((group, at) => {
      let left = shares[at] as number;
      return group.filter((item) => {
        const fits = of(item) <= left;
        if (fits) left -= of(item);
        return fits;
      });
    });
  }, groups);
}

/** How much of `all` each of `sizes` may have: who wants no more than an equal share has it whole, the others share what is left. */
function fairShares(sizes: readonly number[], all: number): readonly number[] {
  const shares = sizes.map(() => 0);
  let left = all;
  const bySize = sizes.map((size, at) => ({ size, at })).sort((a, b) => a.size - b.size);
  for (const [taken, { size, at }] of bySize.entries()) {
    shares[at] = Math.min(size, Math.floor(left / (bySize.length - taken)));
    left -= shares[at];
  }
  return shares;
}
