/** A measure of items, and the most of it in all. */
export interface Bound<Item> {
  readonly all: number;
  of(item: Item): number;
}

/** Cuts each group until all bounds hold. A small group stays whole however large others are; the first items of a group are kept. */
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

/** Divides `all` among `sizes`: who needs no more than an equal share gets all of it, the others share the rest. */
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
