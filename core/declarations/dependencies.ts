import type { Diagnostic } from '../contract/index.ts';
import { didYouMean } from '@pith/plain-text';
import type { Declaration, Failure } from './declaration.ts';

export type IsEnabled = (declaration: Pick<Declaration, 'id' | 'manifest' | 'guard'>) => boolean;

/**
 * Why declarations cannot run, by id: a broken manifest, and `depends_on` that is missing, in a circle, or leads to what cannot run. Pure:
 * `at` is only copied into the failures. What is switched off does not fail, but blocks what depends on it.
 */
export function dependencyFailures(
  declarations: ReadonlyMap<string, Declaration>,
  isEnabled: IsEnabled,
  at = 0,
): ReadonlyMap<string, Failure> {
  const failures = new Map<string, Failure>();
  const running = [...declarations.values()].filter(isEnabled).sort(byId);
  const fail = ({ id, file }: Declaration, code: string, message: string, more: Partial<Failure>): void =>
    void failures.set(id, { extensionId: id, phase: 'order', code, message, at, file, ...more });

  for (const declaration of running)
    if (declaration.manifest === null && declaration.readBy === undefined) failures.set(declaration.id, brokenManifest(declaration, at));
  const sound = running.filter(({ manifest }) => manifest !== null);
  const edges: Edges = new Map(sound.map(({ id, manifest }) => [id, manifest!.depends_on]));
  const dependents = new Map<string, Declaration[]>();
  for (const declaration of sound)
    for (const id of new Set(edges.get(declaration.id)!)) {
      const known = dependents.get(id) ?? [];
      dependents.set(id, known);
      known.push(declaration);
    }

  for (const declaration of sound) {
    const missing = edges.get(declaration.id)!.filter((id) => !declarations.has(id));
    if (missing.length > 0)
      fail(declaration, 'dependency_missing', missingMessage(missing, declarations), {
        cure: 'add it, or correct depends_on',
        ...placeOf(declaration, missing[0]!),
      });
  }
  for (const id of withoutEnd(edges, dependents)) {
    const circle = circleThrough(id, edges);
    if (circle === null) continue; // it only leads to one
    const declaration = declarations.get(id)!;
    const message = `depends on itself: ${[...circle, circle[0]!].join(' → ')}`;
    fail(declaration, 'dependency_cycle', message, { cure: 'remove one of these from depends_on', ...placeOf(declaration, null) });
  }

  // From the cause outwards, so that each names the chain to it.
  const queue: { readonly id: string; readonly chain: readonly string[]; readonly cause: string; readonly cure?: string }[] = [];
  for (const [id, { message, cure }] of failures) queue.push({ id, chain: [id], cause: message, cure });
  for (const declaration of declarations.values()) {
    const { id } = declaration;
    if (!isEnabled(declaration)) queue.push({ id, chain: [id], cause: 'it is switched off', cure: `switch '${id}' on` });
  }
  for (const { id, chain, cause, cure } of queue)
    for (const dependent of dependents.get(id) ?? []) {
      if (failures.has(dependent.id)) continue;
      const message = `needs ${chain.map((each) => `'${each}'`).join(', which needs ')}, which cannot run: ${cause}`;
      fail(dependent, 'dependency_failed', message, { cause, cure, ...placeOf(dependent, id) });
      queue.push({ id: dependent.id, chain: [dependent.id, ...chain], cause, cure });
    }
  return failures;
}

/** True for what waits for something else: its own declaration is sound. */
export function isBlocked(failure: Failure): boolean {
  return failure.code === 'dependency_missing' || failure.code === 'dependency_failed';
}

/** From an id to those that it depends on. */
type Edges = ReadonlyMap<string, readonly string[]>;

/** Ids from which dependencies lead into a circle: what is left when all that depends on nothing else is taken away, again and again. */
function withoutEnd(edges: Edges, dependents: ReadonlyMap<string, readonly Declaration[]>): readonly string[] {
  const open = new Map([...edges].map(([id, wanted]) => [id, [...new Set(wanted)].filter((other) => edges.has(other)).length]));
  const done = [...open.keys()].filter((id) => open.get(id) === 0);
  for (const id of done)
    for (const { id: dependent } of dependents.get(id) ?? []) {
      open.set(dependent, open.get(dependent)! - 1);
      if (open.get(dependent) === 0) done.push(dependent);
    }
  const ended = new Set(done);
  return [...open.keys()].filter((id) => !ended.has(id));
}

/** A shortest path from an id back to itself, which begins with its smallest id; null: there is none. */
function circleThrough(start: string, edges: Edges): readonly string[] | null {
  const before = new Map<string, string>();
  const seen = [start];
  for (const at of seen)
    for (const next of edges.get(at) ?? []) {
      if (next === start) return wayTo(at, before);
      if (before.has(next) || !edges.has(next)) continue;
      before.set(next, at);
      seen.push(next);
    }
  return null;
}

function wayTo(last: string, before: ReadonlyMap<string, string>): readonly string[] {
  const way = [last];
  for (let at = before.get(last); at !== undefined; at = before.get(at)) way.unshift(at);
  const first = way.indexOf([...way].sort()[0]!);
  return [...way.slice(first), ...way.slice(0, first)];
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

function byId(a: Declaration, b: Declaration): number {
  return a.id < b.id ? -1 : 1;
}
