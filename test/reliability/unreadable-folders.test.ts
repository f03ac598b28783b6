import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scanSource } from '@pith/skill-files';
import { systemClock } from '@pith/promises';
import { describe, expect, it } from 'vitest';
import { hasBegun } from '../../packages/folder-changes/journaled.ts';
import { RecipeFolders } from '../../sandbox/extensions/recipes/recipe-folders.ts';
import { able, discoverIn, extension, indexIn } from '../core/declarations/sandbox-folder.ts';
import { logTo, skillText } from '../extensions/skill_registry/skill-sandbox.ts';
import { agentFile } from '../journeys/sandbox-files.ts';
import { main, manifest } from '../core/process/extension.ts';
import { folderWith, kernelOf } from '../places.ts';
import { unreadable } from '../unreadable.ts';

const CODES = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES'];
const PASSING = CODES.slice(0, 4);

const SANDBOX = {
  ...extension('hi'),
  ...extension('there'),
  'agents/main/manifest.yaml': 'id: main\nagent: {}\n',
  'agents/main/prompt.md': 'You are main.\n',
};

describe('S5 a folder that cannot be read is not an empty one', () => {
  it.each([
    ...CODES.flatMap((code) => ['extensions', 'agents', 'extensions/hi', 'agents/main'].map((place) => [code, place] as const)),
    ...PASSING.flatMap((code) => ['extensions/hi/manifest.yaml', 'agents/main/prompt.md'].map((place) => [code, place] as const)),
  ])('%s of %s: what it declared holds, which is said, until it can be read', async (code, place) => {
    const sandbox = folderWith(SANDBOX);
    const index = indexIn(sandbox);
    const before = await discoverIn(sandbox, { index });
    const fails = (each: string) => each === path.join(sandbox, place);
    // Something was touched: what is known from the stamps alone is not enough.
    const touched = path.join(sandbox, place.includes('hi') ? 'extensions/hi/main.ts' : 'agents/main/other.txt');
    writeFileSync(touched, 'export default class {}\n');
    utimesSync(path.join(sandbox, place), 1, 1);
    const meanwhile = await unreadable(code, fails, () => discoverIn(sandbox, { index }));
    expect([...meanwhile.declarations.keys()]).toEqual(['hi', 'main', 'there']);
    expect(able(meanwhile)).toEqual(able(before));
    for (const [id, { manifest: found }] of before.declarations) expect(meanwhile.declarations.get(id)?.manifest).toEqual(found);
    const said = meanwhile.diagnostics.filter(({ message }) => message.includes('what it declared before still counts'));
    expect(said).toMatchObject([
      { severity: 'error', message: expect.stringContaining(code), cure: expect.stringMatching(/raise the limit|make it readable/) },
    ]);
    const after = await discoverIn(sandbox, { index });
    expect([able(after), after.diagnostics]).toEqual([able(before), before.diagnostics]);
    rmSync(path.join(sandbox, 'extensions'), { recursive: true });
    expect([...(await discoverIn(sandbox, { index })).declarations.keys()]).toEqual(['main']);
  });

  it('a running kernel keeps its extensions and its agent', async () => {
    const pith = await kernelOf({
      only: [],
      files: {
        ...manifest('hi', {}),
        ...main('hi', 'getTools() { return []; }'),
        'agents/main/manifest.yaml': agentFile('main', {}),
        'pith.yaml': 'default_agent: main\n',
      },
    });
    await pith.kernel.start();
    const states = () => pith.kernel.host.extensions.list().map(({ id, state }) => `${id} ${state}`);
    const before = states();
    const fails = (place: string) => /[/\\](?:extensions|agents)$/u.test(place);
    await unreadable('EMFILE', fails, () => pith.kernel.host.extensions.refresh());
    expect(states()).toEqual(before);
  });

  it.each(CODES)('%s: skills stay, whether their source, a folder in it or a SKILL.md cannot be read', async (code) => {
    const root = folderWith({
      'one/SKILL.md': skillText({ name: 'one' }),
      'group/two/SKILL.md': skillText({ name: 'two' }),
    });
    const source = { label: 'skills', directory: root, configured: true };
    const options = { trustedLinks: [], now: () => systemClock.now(), goodBody: () => null };
    let scan = await scanSource(source, null, options);
    for (const place of ['', 'group', 'one/SKILL.md']) {
      const at = path.join(root, place);
      utimesSync(at, 1, 1);
      scan = await unreadable(
        code,
        (each) => each === at,
        () => scanSource(source, scan, options),
      );
      const offered = [...scan.skills.values()].map(({ id, parsed, good }) => [id, parsed.valid || good !== null]);
      expect(offered.sort()).toEqual([
        ['one', true],
        ['two', true],
      ]);
      expect(scan.diagnostics.map((each) => each.code)).toEqual(place === 'one/SKILL.md' ? [] : ['source_unreadable']);
      if (code === 'EACCES') continue;
      scan = await scanSource(source, scan, options);
      expect([scan.diagnostics, [...scan.skills.values()].every(({ parsed }) => parsed.valid)]).toEqual([[], true]);
    }
  });

  it.each(CODES)('%s: recipes stay', async (code) => {
    const sandbox = folderWith({ 'recipes/one.md': '---\ndescription: One\n---\nOne.\n' });
    const lines: string[] = [];
    const folders = new RecipeFolders({ sandbox, home: null, shippedSandbox: sandbox } as never, logTo(lines));
    const names = async () => (await folders.read()).recipes.map(({ name }) => name);
    expect(await names()).toEqual(['one']);
    expect(await unreadable(code, (place) => place.endsWith('recipes'), names)).toEqual(['one']);
    expect(lines).toEqual(['warn recipes not read: those from before stay']);
    rmSync(path.join(sandbox, 'recipes'), { recursive: true });
    expect(await names()).toEqual([]);
  });

  it('what a change has moved away is not taken for nothing', async () => {
    const folder = folderWith({ 'old/kept/SKILL.md': 'x' });
    mkdirSync(path.join(folder, 'none'));
    const old = path.join(folder, 'old');
    expect(await hasBegun(path.join(folder, 'none'))).toBe(false);
    for (const code of CODES)
      await expect(
        unreadable(
          code,
          (each) => each === old,
          () => hasBegun(folder),
        ),
      ).rejects.toMatchObject({ code });
  });
});
