import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { folderWith } from '../../places.ts';
import { dependencyFailures } from '../../../core/declarations/index.ts';
import { able, discoverIn } from './sandbox-folder.ts';

const BROKEN = 'id: broken\nagent:\n  limits:\n    colour: 3\n';

/** What of these can run, and why the others cannot. */
async function among(manifests: Readonly<Record<string, object>>, more: Readonly<Record<string, string>> = {}) {
  const found = await discoverIn(folderWith({ ...filesOf(manifests), ...more }));
  return { ...found, runs: able(found) };
}

describe('dependencies', () => {
  it('K2 uses_tools, delegates_to and optional_depends_on keep nothing from running, also in a circle', async () => {
    const { failures } = await among({
      a: { agent: { uses_tools: ['z/one', 'absent', '*'], delegates_to: ['b'] } },
      b: { depends_on: ['a'], optional_depends_on: ['nowhere'], agent: { delegates_to: ['c'] } },
      c: { agent: { delegates_to: ['b', 'c'] } },
    });
    expect(failures.size).toBe(0);
  });

  it('K2 a cycle names its members; dependents are blocked; the rest starts', async () => {
    const { runs, failures } = await among({
      a: { depends_on: ['b'] },
      b: { depends_on: ['c'] },
      c: { depends_on: ['a'] },
      d: { depends_on: ['c'] },
      e: {},
      self: { depends_on: ['self'] },
    });
    expect(runs).toEqual(['e']);
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
    const { runs, failures } = await among({
      skill_registry: {},
      a: { depends_on: ['skil_registry'] },
      b: { depends_on: ['a'] },
      c: { depends_on: ['b'] },
    });
    expect(runs).toEqual(['skill_registry']);
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
    const { runs, failures } = await among(manifests, { 'extensions/broken/manifest.yaml': BROKEN });
    expect(runs).toEqual(['free']);
    expect(failures.has('off')).toBe(false);
    expect(failures.get('a')).toMatchObject({
      code: 'dependency_failed',
      cure: "switch 'off' on",
      message: expect.stringContaining('switched off'),
    });
    const broken = failures.get('broken');
    expect(broken).toMatchObject({ phase: 'validate', code: 'unknown_key', line: 4, message: expect.stringContaining('colour') });
    expect(failures.get('b')).toMatchObject({ cause: broken?.message, cure: broken?.cure });
  });

  it('K2 a broken manifest that is switched off does not fail', async () => {
    const sandbox = folderWith({ 'extensions/broken/manifest.yaml': BROKEN });
    expect(await discoverIn(sandbox, { isEnabled: () => false })).toMatchObject({ failures: new Map() });
  });

  it('K2 any graph: what runs needs nothing that does not, and each circle is found', async () => {
    const names = [...'abcdefgh'];
    const some = fc.subarray(names, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ depends_on: some, delegates_to: some }), { minLength: 8, maxLength: 8 }), async (parts) => {
        const manifests = parts.map(({ depends_on, delegates_to }, index) => [names[index]!, { depends_on, agent: { delegates_to } }]);
        const { runs, failures, declarations } = await among(Object.fromEntries(manifests) as Record<string, object>);
        const wanted = (id: string) => declarations.get(id)!.manifest!.depends_on;
        for (const id of runs) for (const other of wanted(id)) expect(runs).toContain(other);
        const started: string[] = [];
        for (const _ of names)
          started.push(...runs.filter((id) => !started.includes(id) && wanted(id).every((each) => started.includes(each))));
        expect(started.sort()).toEqual(runs);
        for (const [id, { code }] of failures) expect(code === 'dependency_cycle').toBe(reaches(id, id, wanted));
        for (const { message } of [...failures.values()].filter(({ code }) => code === 'dependency_cycle')) {
          const circle = message.replace('depends on itself: ', '').split(' → ');
          for (const [at, each] of circle.slice(0, -1).entries()) expect(wanted(each)).toContain(circle[at + 1]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('K2 a chain of ten thousand neither overflows nor crawls', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `n${index}`);
    const declarations = names.map((id, index) => [id, { id, manifest: { depends_on: names.slice(index + 1, index + 2) } }] as const);
    expect(dependencyFailures(new Map(declarations) as never, () => true).size).toBe(0);
  });
});

function reaches(from: string, to: string, wanted: (id: string) => readonly string[]): boolean {
  const seen = new Set(wanted(from));
  for (const id of seen) for (const next of wanted(id)) seen.add(next);
  return seen.has(to);
}

function filesOf(manifests: Readonly<Record<string, object>>): Record<string, string> {
  return Object.fromEntries(Object.entries(manifests).map(([id, more]) => [`extensions/${id}/manifest.yaml`, stringify({ id, ...more })]));
}
