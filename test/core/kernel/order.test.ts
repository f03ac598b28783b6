import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { orderOf } from '../../../core/kernel/index.ts';
import { folderWith } from '../../places.ts';
import { discoverIn } from './sandbox-folder.ts';

const BROKEN = 'id: broken\nagent:\n  limits:\n    colour: 3\n';

/** In which order what declares this starts, and what cannot. */
const discovered = (manifests: Readonly<Record<string, object>>, more: Readonly<Record<string, string>> = {}) =>
  discoverIn(folderWith({ ...filesOf(manifests), ...more }));

describe('order', () => {
  it('K2 puts hard dependencies first, then sorts by id', async () => {
    const { order, failures } = await discovered({ a: { depends_on: ['c'] }, b: {}, c: { depends_on: ['d'] }, d: {} });
    expect(order).toEqual(['d', 'c', 'a', 'b']);
    expect(failures.size).toBe(0);
  });

  it('K2 uses_tools, delegates_to and optional_depends_on only order the start', async () => {
    const { order, failures } = await discovered({
      a: { agent: { uses_tools: ['z/one', 'absent', '*'], delegates_to: ['y'] } },
      b: { optional_depends_on: ['x', 'nowhere'] },
      x: {},
      y: {},
      z: {},
    });
    expect(order).toEqual(['z', 'y', 'a', 'x', 'b']);
    expect(failures.size).toBe(0);
  });

  it('K2 drops a soft edge that would make a cycle, not a hard one', async () => {
    const { order, failures } = await discovered({
      a: { agent: { delegates_to: ['b'] } },
      b: { depends_on: ['a'], agent: { delegates_to: ['c'] } },
      c: { agent: { delegates_to: ['b', 'c'] } },
    });
    expect(failures.size).toBe(0);
    expect(order.indexOf('a')).toBeLessThan(order.indexOf('b'));
    expect([...order].sort()).toEqual(['a', 'b', 'c']);
  });

  it('K2 a cycle names its members; dependents are blocked; the rest starts', async () => {
    const { order, failures } = await discovered({
      a: { depends_on: ['b'] },
      b: { depends_on: ['c'] },
      c: { depends_on: ['a'] },
      d: { depends_on: ['c'] },
      e: {},
      self: { depends_on: ['self'] },
    });
    expect(order).toEqual(['e']);
    for (const id of ['a', 'b', 'c']) {
      expect(failures.get(id)).toMatchObject({
        code: 'dependency_cycle',
        phase: 'order',
        message: expect.stringContaining('a → b → c → a'),
      });
    }
    expect(failures.get('d')).toMatchObject({ code: 'dependency_failed' });
    expect(failures.get('self')?.message).toContain('self → self');
  });

  it('K2 a missing hard dependency blocks with the nearest names and its dependents with the chain', async () => {
    const { order, failures } = await discovered({
      skill_registry: {},
      a: { depends_on: ['skil_registry'] },
      b: { depends_on: ['a'] },
      c: { depends_on: ['b'] },
    });
    expect(order).toEqual(['skill_registry']);
    expect(failures.get('a')).toMatchObject({
      code: 'dependency_missing',
      file: expect.stringMatching(/a\/manifest\.yaml$/),
      message: expect.stringContaining("'skill_registry'"),
    });
    expect(failures.get('c')).toMatchObject({
      code: 'dependency_failed',
      message: expect.stringMatching(/^needs 'b', which needs 'a', which cannot run: depends on 'skil_registry'/),
    });
  });

  it('K2 what depends on something broken or switched off is blocked, and says which', async () => {
    const manifests = { off: { enabled: false }, a: { depends_on: ['off'] }, b: { depends_on: ['broken'] }, free: {} };
    const { order, failures } = await discovered(manifests, { 'extensions/broken/manifest.yaml': BROKEN });
    expect(order).toEqual(['free']);
    expect(failures.has('off')).toBe(false);
    expect(failures.get('a')).toMatchObject({
      code: 'dependency_failed',
      cure: "Switch 'off' on",
      message: expect.stringContaining('switched off'),
    });
    const broken = failures.get('broken');
    expect(broken).toMatchObject({ phase: 'validate', code: 'unknown_key', line: 4, message: expect.stringContaining('colour') });
    expect(failures.get('b')).toMatchObject({ cause: broken?.message, cure: broken?.cure });
  });

  it('K2 a broken manifest that is switched off does not fail', async () => {
    const sandbox = folderWith({ 'extensions/broken/manifest.yaml': BROKEN });
    expect(await discoverIn(sandbox, { isEnabled: () => false })).toMatchObject({ order: [], failures: new Map() });
  });

  it('K2 any graph: each id is ordered or failed, and hard edges hold', async () => {
    const names = [...'abcdefgh'];
    const some = fc.subarray(names, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ depends_on: some, delegates_to: some }), { minLength: 8, maxLength: 8 }), async (parts) => {
        const manifests = parts.map(({ depends_on, delegates_to }, index) => [names[index]!, { depends_on, agent: { delegates_to } }]);
        const { order, failures, declarations } = await discovered(Object.fromEntries(manifests) as Record<string, object>);
        expect([...order, ...failures.keys()].sort()).toEqual(names);
        order.forEach((id, index) => {
          for (const other of declarations.get(id)!.manifest!.depends_on) expect(order.slice(0, index)).toContain(other);
        });
      }),
      { numRuns: 100 },
    );
  });

  it('K2 a chain of ten thousand neither overflows nor crawls', async () => {
    const link = (await discovered({ link: {} })).declarations.get('link')!;
    const chain = Array.from({ length: 10_000 }, (_, at) => {
      const depends_on = at === 9_999 ? [] : [`n${at + 1}`];
      return [`n${at}`, { ...link, id: `n${at}`, manifest: { ...link.manifest!, depends_on } }] as const;
    });
    const { order } = orderOf(new Map(chain), () => true);
    expect(order.length).toBe(10_000);
    expect(order[0]).toBe('n9999');
  });
});

function filesOf(manifests: Readonly<Record<string, object>>): Record<string, string> {
  return Object.fromEntries(Object.entries(manifests).map(([id, more]) => [`extensions/${id}/manifest.yaml`, stringify({ id, ...more })]));
}
