import type { Diagnostic } from '../../contract/index.ts';
import type { Failure } from '../records/failures.ts';
import type { Manifest } from '../../trust/index.ts';
import { didYouMean } from '@pith/plain-text';
import type { Declaration } from './declaration.ts';

/** Of a broken manifest only the id is known. */
export type IsEnabled = (id: string, manifest: Manifest | null) => boolean;

export interface Order {
  /** Ids that can start, hard dependencies before dependents; otherwise by id, and after what they use where that is possible. */
  readonly order: readonly string[];
  readonly failures: ReadonlyMap<string, Failure>;
}

/**
 * Orders declarations by `depends_on`. Pure: `at` is only copied into the failures. What is switched off neither starts nor
 * fails, but its hard dependents are blocked. `optional_depends_on`, `uses_tools` and `delegates_to` order where they can.
 */
export function orderOf(declarations: ReadonlyMap<string, Declaration>, isEnabled: IsEnabled, at = 0): Order {
  const failures = new Map<string, Failure>();
  const running = [...declarations.values()].filter(({ id, manifest }) => isEnabled(id, manifest)).sort(byId);
  const fail = ({ id, file }: Declaration, code: string, message: string, more: Partial<Failure> = {}) =>
    failures.set(id, { extensionId: id, phase: 'order', code, message, at, file, ...more });

  for (const declaration of running) {
    if (declaration.manifest === null && declaration.readBy === undefined) failures.set(declaration.id, brokenManifest(declaration, at));
  }
  const sound = running.filter(({ manifest }) => manifest !== null);
  const hard = new Map(sound.map(({ id, manifest }) => [id, manifest!.depends_on]));
  for (const declaration of sound) {
    const missing = hard.get(declaration.id)!.filter((id) => !declarations.has(id));
    if (missing.length > 0)
      fail(declaration, 'dependency_missing', missingMessage(missing, declarations), {
        cure: 'add it, or correct depends_on',
        ...placeOf(declaration, missing[0]!),
      });
  }
  for (const group of groupsOf(hard)) {
    const shown = [...group, group[0]!].join(' → ');
    for (const id of group)
      fail(declarations.get(id)!, 'dependency_cycle', `depends on itself: ${shown}`, {
        cure: 'remove one of these from depends_on',
        ...placeOf(declarations.get(id)!, null),
      });
  }
  cascade(sound, hard, declarations, isEnabled, failures, fail);

  const starting = sound.filter(({ id }) => !failures.has(id));
  return {
    order: sortedBy(
      starting.map(({ id }) => id),
      hard,
      new Map(starting.map((each) => [each.id, softEdges(each)])),
    ),
    failures,
  };
}

/** True for what waits for something else: its own declaration is sound. */
export function isBlocked(failure: Failure): boolean {
  return failure.code === 'dependency_missing' || failure.code === 'dependency_failed';
}

type Fail = (declaration: Declaration, code: string, message: string, more?: Partial<Failure>) => void;

/** Blocks what depends on something that cannot run, from the cause outwards, so that each names the chain to it. */
function cascade(
  sound: readonly Declaration[],
  hard: ReadonlyMap<string, readonly string[]>,
  declarations: ReadonlyMap<string, Declaration>,
  isEnabled: IsEnabled,
  failures: ReadonlyMap<string, Failure>,
  fail: Fail,
): void {
  const dependents = new Map<string, Declaration[]>();
  for (const declaration of sound) {
    for (const id of hard.get(declaration.id)!) {
      const known = dependents.get(id);
      if (known === undefined) dependents.set(id, [declaration]);
      else known.push(declaration);
    }
  }
  const queue: { readonly id: string; readonly chain: readonly string[]; readonly cause: string; readonly cure?: string }[] = [];
  for (const [id, { message, cure }] of failures) queue.push({ id, chain: [id], cause: message, cure });
  for (const { id, manifest } of declarations.values()) {
    if (!isEnabled(id, manifest)) queue.push({ id, chain: [id], cause: 'it is switched off', cure: `Switch '${id}' on` });
  }
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const dependent of dependents.get(next.id) ?? []) {
      if (failures.has(dependent.id)) continue;
      const { chain, cause, cure } = next;
      const message = `needs ${chain.map((id) => `'${id}'`).join(', which needs ')}, which cannot run: ${cause}`;
      fail(dependent, 'dependency_failed', message, { cause, cure, ...placeOf(dependent, next.id) });
      queue.push({ id: dependent.id, chain: [dependent.id, ...chain], cause, cure });
    }
  }
}

function brokenManifest({ id, file, diagnostics }: Declaration, at: number): Failure {
  const first: Diagnostic = diagnostics.find(({ severity }) => severity === 'error') ?? {
    severity: 'error',
    code: 'manifest_invalid',
    message: 'cannot be read',
  };
  return {
    extensionId: id,
    phase: 'validate',
    code: first.code,
    message: first.message,
    at,
    file: first.file ?? file,
    line: first.line,
    cure: first.cure,
  };
}

function missingMessage(missing: readonly string[], declarations: ReadonlyMap<string, Declaration>): string {
  return missing.map((id) => `depends on '${id}', which nothing declares${didYouMean(id, declarations.keys())}`).join('; ');
}

function placeOf({ manifest, positions }: Declaration, dependency: string | null): Pick<Failure, 'line'> {
  const index = dependency === null ? -1 : (manifest?.depends_on.indexOf(dependency) ?? -1);
  return { line: (positions?.[`depends_on.${index}`] ?? positions?.['depends_on'])?.[0] };
}

function softEdges({ manifest }: Declaration): readonly string[] {
  const agent = manifest!.agent;
  return [
    ...manifest!.optional_depends_on,
    ...(agent?.uses_tools ?? []).map((tool) => tool.split('/', 1)[0]!),
    ...(agent?.delegates_to ?? []),
  ];
}

function byId(a: Declaration, b: Declaration): number {
  return a.id < b.id ? -1 : 1;
}

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
