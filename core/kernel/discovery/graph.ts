/** Edges from an id to what comes before it. */
export type Edges = ReadonlyMap<string, readonly string[]>;

/** The groups of ids that reach themselves, each in the order of its edges, the smallest id first. */
export function groupsOf(edges: Edges): readonly (readonly string[])[] {
  return componentsOf(edges)
    .filter((members) => members.length > 1 || edges.get(members[0]!)!.includes(members[0]!))
    .map((members) => around(members, edges));
}

/**
 * `ids` such that each comes after its `hard` edges, which have no cycle, and after its `soft` ones unless these would make a
 * cycle; otherwise in the order given. Edges to ids that are not among `ids` say nothing.
 */
export function sortedBy(ids: readonly string[], hard: Edges, soft: Edges): readonly string[] {
  const present = new Set(ids);
  const edges = new Map(ids.map((id) => [id, (hard.get(id) ?? []).filter((other) => present.has(other))]));
  const wished = new Map(
    ids.map((id) => [id, [...edges.get(id)!, ...(soft.get(id) ?? []).filter((other) => present.has(other) && other !== id)]]),
  );
  const component = new Map<string, number>();
  componentsOf(wished).forEach((members, number) => members.forEach((id) => component.set(id, number)));
  for (const id of ids) {
    for (const other of wished.get(id)!) {
      const free = component.get(id) !== component.get(other) || !reaches(edges, other, id);
      if (free && !edges.get(id)!.includes(other)) edges.get(id)!.push(other);
    }
  }
  return emit(ids, edges);
}

function emit(ids: readonly string[], edges: Edges): string[] {
  const done = new Set<string>();
  const order: string[] = [];
  for (const first of ids) {
    const stack = [first];
    while (stack.length > 0) {
      const id = stack.at(-1)!;
      const next = done.has(id) ? undefined : edges.get(id)!.find((other) => !done.has(other));
      if (next !== undefined) {
        stack.push(next);
        continue;
      }
      stack.pop();
      if (!done.has(id)) order.push(id);
      done.add(id);
    }
  }
  return order;
}

function reaches(edges: Edges, from: string, to: string): boolean {
  const seen = new Set([from]);
  const stack = [from];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (id === to) return true;
    for (const other of edges.get(id) ?? []) {
      if (!seen.has(other)) stack.push(other);
      seen.add(other);
    }
  }
  return false;
}

/** Strongly connected components (Tarjan, without recursion: a chain may be longer than the stack). */
function componentsOf(edges: Edges): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const components: string[][] = [];
  for (const root of edges.keys()) {
    if (index.has(root)) continue;
    const stack: { readonly id: string; next: number }[] = [];
    const enter = (id: string) => {
      index.set(id, index.size);
      low.set(id, index.get(id)!);
      open.push(id);
      isOpen.add(id);
      stack.push({ id, next: 0 });
    };
    enter(root);
    while (stack.length > 0) {
      const frame = stack.at(-1)!;
      const other = edges.get(frame.id)![frame.next];
      frame.next += 1;
      if (other !== undefined) {
        if (!edges.has(other)) continue;
        if (!index.has(other)) enter(other);
        else if (isOpen.has(other)) low.set(frame.id, Math.min(low.get(frame.id)!, index.get(other)!));
        continue;
      }
      stack.pop();
      const parent = stack.at(-1);
      if (parent !== undefined) low.set(parent.id, Math.min(low.get(parent.id)!, low.get(frame.id)!));
      if (low.get(frame.id) === index.get(frame.id)) {
        const members = open.splice(open.lastIndexOf(frame.id));
        members.forEach((id) => isOpen.delete(id));
        components.push(members);
      }
    }
  }
  return components;
}

/** The members along a cycle through the smallest of them; those that are off that cycle come last, by id. */
function around(members: readonly string[], edges: Edges): string[] {
  const inside = new Set(members);
  const first = [...members].sort()[0]!;
  const path = [first];
  const seen = new Set(path);
  for (;;) {
    const next = edges.get(path.at(-1)!)!.find((other) => inside.has(other) && !seen.has(other));
    if (next === undefined) break;
    path.push(next);
    seen.add(next);
    if (edges.get(next)!.includes(first)) break;
  }
  return [...path, ...members.filter((id) => !seen.has(id)).sort()];
}
