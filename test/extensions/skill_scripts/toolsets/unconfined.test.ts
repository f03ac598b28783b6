import { Bundler, type ExtensionContext, type JsonValue, Places } from 'pith';
import { beforeEach, describe, expect, it } from 'vitest';
import { Toolsets } from '../../../../sandbox/extensions/skill_scripts/toolsets/toolsets.ts';
import { allow } from '../../../../sandbox/extensions/skill_scripts/allow.ts';
import { folderWith } from '../../../places.ts';
import { recordsOf, skillOf } from '../../skill_registry/skill-values.ts';

const unconfined = { why: 'bubblewrap is not installed', cure: 'install the package bubblewrap' };

describe('the toolset of a skill where nothing confines', () => {
  let digest: string;
  let held: typeof unconfined | null;
  let toolsets: Toolsets;
  let dataDirectory: string;
  beforeEach(() => {
    dataDirectory = folderWith();
    [digest, held] = ['d1', unconfined];
    const kept = new Map<string, JsonValue>();
    const answers: Readonly<Record<string, object>> = {
      [Bundler.id]: { inspect: async () => ({ digest, unconfined: held }) },
      [Places.id]: { sandbox: '/mine', shippedSandbox: '/pith' },
    };
    toolsets = new Toolsets(
      {
        directory: '/pith/extensions/skill_scripts',
        dataDirectory,
        clock: { now: () => 0 },
        logger: { warn: () => undefined },
        events: { publish: async () => '' },
        kv: { get: async (key: string) => kept.get(key) ?? null, set: async (key: string, value: JsonValue) => void kept.set(key, value) },
        use: ({ id }: { readonly id: string }) => answers[id],
      } as unknown as ExtensionContext,
      {
        records: async () => recordsOf([skillOf('dice', { toolsets: ['toolsets/index:list'] })]),
        named: async (name) => Promise.reject(new Error(`there is no skill named '${name}'`)),
      },
    );
  });
  const agree = (yes = true) => {
    const said: string[] = [];
    const io = { print: (text: string) => said.push(text), json: () => undefined, interactive: false, quiet: false } as never;
    return Promise.resolve(allow(toolsets).run({ arguments: { skill: 'dice' }, options: { yes } }, io, new AbortController().signal)).then(
      () => said.join('\n'),
    );
  };

  const dice = () => toolsets.one('toolset:dice');
  const refusal = (of: string) => ({
    code: 'sandbox_unavailable',
    message: expect.stringMatching(new RegExp(`'dice'.*this system has no sandbox.*digest ${of}`)),
    cure: expect.stringContaining('install'),
  });

  it('T16 F9: is not declared, and is told with the cure; once agreed for its digest it is, and another asks again', async () => {
    await expect(dice()).rejects.toMatchObject(refusal('d1'));
    expect([...toolsets.waiting.values()]).toMatchObject([{ diagnostic: refusal('d1') }]);
    expect(await toolsets.all()).toEqual([]);
    await expect(agree(false)).rejects.toMatchObject({ code: 'usage' });
    expect(await agree()).toContain('may run until its code changes');
    expect(await dice()).toMatchObject([{ manifest: { id: 'toolset:dice' }, digest: 'd1' }]);
    expect(await agree()).toContain('No toolset of skill');
    digest = 'd2';
    await expect(dice()).rejects.toMatchObject(refusal('d2'));
  });

  it('T16 F9: where a person chose no sandbox, it is declared', async () => {
    held = null;
    expect(await dice()).toMatchObject([{ digest: 'd1' }]);
  });
});
