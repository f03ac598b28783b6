import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Declaration } from '../../../core/kernel/index.ts';
import { isBlocked, orderOf } from '../../../core/kernel/discovery/order.ts';
import { manifestSchema } from '../../../core/trust/index.ts';

const enabled = (_id: string, manifest: Declaration['manifest']) => manifest?.enabled ?? true;

describe('order', () => {
  it('K2 puts hard dependencies first, then sorts by id', () => {
    const { order, failures } = orderOf(set({ a: { depends_on: ['c'] }, b: {}, c: { depends_on: ['d'] }, d: {} }), enabled);
    expect(order).toEqual(['d', 'c', 'a', 'b']);
    expect(failures.size).toBe(0);
  });

  it('K2 uses_tools, delegates_to and optional_depends_on only order the start', () => {
    const { order, failures } = orderOf(
      set({
        a: { agent: { uses_tools: ['z/one', 'absent', '*'], delegates_to: ['y'] } },
        b: { optional_depends_on: ['x', 'nowhere'] },
        x: {},
        y: {},
        z: {},
      }),
      enabled,
    );
    expect(order).toEqual(['z', 'y', 'a', 'x', 'b']);
    expect(failures.size).toBe(0);
  });

  it('K2 drops a soft edge that would make a cycle, not a hard one', () => {
    const { order, failures } = orderOf(
      set({
        a: { agent: { delegates_to: ['b'] } },
        b: { depends_on: ['a'], agent: { delegates_to: ['c'] } },
        c: { agent: { delegates_to: ['b', 'c'] } },
      }),
      enabled,
    );
    expect(failures.size).toBe(0);
    expect(order.indexOf('a')).toBeLessThan(order.indexOf('b'));
    expect([...order].sort()).toEqual(['a', 'b', 'c']);
  });

  it('K2 a cycle names its members; dependents are blocked; the rest starts', () => {
    const { order, failures } = orderOf(
      set({
        a: { depends_on: ['b'] },
        b: { depends_on: ['c'] },
        c: { depends_on: ['a'] },
        d: { depends_on: ['c'] },
        e: {},
        self: { depends_on: ['self'] },
      }),
      enabled,
    );
    expect(order).toEqual(['e']);
    for (const id of ['a', 'b', 'c']) {
      expect(failures.get(id)).toMatchObject({
        code: 'dependency_cycle',
        phase: 'order',
        message: expect.stringContaining('a → b → c → a'),
      });
      expect(isBlocked(failures.get(id)!)).toBe(false);
    }
    expect(failures.get('d')).toMatchObject({ code: 'dependency_failed' });
    expect(failures.get('self')?.message).toContain('self → self');
  });

  it('K2 a missing hard dependency blocks with the nearest names and its dependents with the chain', () => {
    const { order, failures } = orderOf(
      set({ skill_registry: {}, a: { depends_on: ['skil_registry'] }, b: { depends_on: ['a'] }, c: { depends_on: ['b'] } }),
      enabled,
      7,
    );
    expect(order).toEqual(['skill_registry']);
    expect(failures.get('a')).toMatchObject({
      code: 'dependency_missing',
      at: 7,
      file: '/x/a/manifest.yaml',
      message: expect.stringContaining("'skill_registry'"),
    });
    expect(failures.get('c')).toMatchObject({
      code: 'dependency_failed',
      message: expect.stringMatching(/^needs 'b', which needs 'a', which cannot run: depends on 'skil_registry'/),
    });
    expect([...failures.values()].every(isBlocked)).toBe(true);
  });

  it('K2 what depends on something broken or switched off is blocked, and says which', () => {
    const declarations = set({ off: { enabled: false }, a: { depends_on: ['off'] }, b: { depends_on: ['broken'] }, free: {} });
    const broken: Declaration = {
      ...declarations.get('free')!,
      id: 'broken',
      manifest: null,
      diagnostics: [
        { severity: 'error', code: 'unknown_key', message: "unknown key 'x'", file: '/x/broken/manifest.yaml', line: 3, cure: 'remove it' },
      ],
    };
    const { order, failures } = orderOf(new Map([...declarations, ['broken', broken]]), enabled);
    expect(order).toEqual(['free']);
    expect(failures.has('off')).toBe(false);
    expect(failures.get('a')).toMatchObject({
      code: 'dependency_failed',
      cure: "Switch 'off' on",
      message: expect.stringContaining('switched off'),
    });
    expect(failures.get('b')).toMatchObject({ cause: "unknown key 'x'", cure: 'remove it' });
    expect(failures.get('broken')).toMatchObject({ phase: 'validate', code: 'unknown_key', line: 3 });
  });

  it('K2 a broken manifest that is switched off does not fail', () => {
    const broken: Declaration = { ...set({ a: {} }).get('a')!, manifest: null };
    expect(orderOf(new Map([['a', broken]]), () => false)).toEqual({ order: [], failures: new Map() });
  });

  it('K2 any graph: each id is ordered or failed, and hard edges hold', () => {
    const names = [...'abcdefgh'];
    const some = fc.subarray(names, { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.record({ depends_on: some, delegates_to: some }), { minLength: 8, maxLength: 8 }), (parts) => {
        const declarations = set(
          Object.fromEntries(parts.map(({ depends_on, delegates_to }, index) => [names[index]!, { depends_on, agent: { delegates_to } }])),
        );
        const { order, failures } = orderOf(declarations, enabled);
        expect([...order, ...failures.keys()].sort()).toEqual(names);
        order.forEach((id, index) => {
          for (const other of declarations.get(id)!.manifest!.depends_on) expect(order.slice(0, index)).toContain(other);
        });
      }),
      { numRuns: 300 },
    );
  });

  it('K2 a chain of ten thousand neither overflows nor crawls', () => {
    const manifests = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`n${index}`, index === 9_999 ? {} : { depends_on: [`n${index + 1}`] }]),
    );
    const { order } = orderOf(set(manifests), enabled);
    expect(order.length).toBe(10_000);
    expect(order[0]).toBe('n9999');
  });
});

function set(manifests: Readonly<Record<string, object>>): Map<string, Declaration> {
  return new Map(
    Object.entries(manifests).map(([id, more]) => [
      id,
      {
        id,
        directory: `/x/${id}`,
        file: `/x/${id}/manifest.yaml`,
        manifest: manifestSchema().parse({ id, ...more }),
        prompt: null,
        shipped: false,
        digest: '',
        diagnostics: [],
      },
    ]),
  );
}
