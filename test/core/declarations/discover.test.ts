import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { folderWith, writeFiles } from '../../places.ts';
import { able, discoverIn, extension, indexIn } from './sandbox-folder.ts';

/** One defect each: the manifest, where it shows, and what is said. What is not said is `manifest_invalid`. */
const DEFECTS: readonly (readonly [name: string, manifest: string, line: number, message: RegExp, code?: string, cure?: RegExp])[] = [
  ['syntax', 'id: bad\nname: "a" b\n', 2, /not valid YAML/],
  ['unknown key', 'id: bad\ndescripton: x\n', 2, /'descripton' \(did you mean 'description'\?\)/, 'unknown_key'],
  [
    'unknown inner key',
    'id: bad\npermissions:\n  netwrok: true\n',
    3,
    /'netwrok' in 'permissions' \(did you mean 'network'\?\)/,
    'unknown_key',
  ],
  [
    'unknown key in a list',
    'id: bad\ncommands:\n  - path: bad\n    need: index\n',
    4,
    /'need' in 'commands\[0\]' \(did you mean 'needs'\?\)/,
    'unknown_key',
  ],
  ['unknown key in limits', 'id: bad\nagent:\n  limits:\n    colour: 3\n', 4, /unknown key 'colour'/, 'unknown_key'],
  ['wrong id', '# a comment\nid: other\n', 2, /'other' differs from the folder's name 'bad'/, 'id_mismatch', /id: bad/],
  ['missing id', 'name: Bad\n', 1, /'id' is missing/],
  ['empty file', '', 1, /'id' is missing/],
  ['not a map', '- one\n- two\n', 1, /must be a map, not a list/],
  ['bad value', 'id: bad\nagent:\n  limits: { max_turns: many }\n', 3, /'agent.limits.max_turns' must be a (whole )?number, not a string/],
  ['bad version', 'id: bad\nversion: one\n', 2, /'version' must be a semantic version/],
  ['unknown protocol', 'id: bad\nentrypoint: main.ts\nprovides: [tols]\n', 3, /did you mean 'tool'\?/],
  ['duplicate key', 'id: bad\nname: a\nname: b\n', 3, /the key 'name' twice/],
  ['duplicate inner key', 'id: bad\nagent:\n  model: a/b\n  model: c/d\n', 4, /the key 'agent.model' twice/],
  ['no provides', 'id: bad\nentrypoint: main.ts\n', 2, /'provides' is missing/, 'manifest_invalid', /provides: \[tool\]/],
  ['provides without entrypoint', 'id: bad\nprovides: [tool]\n', 2, /needs an entrypoint/],
  ['no such entrypoint', 'id: bad\nentrypoint: gone.ts\nprovides: [tool]\n', 2, /'gone.ts', which does not exist/, 'entrypoint_missing'],
  ['entrypoint outside', 'id: bad\nentrypoint: ../good/main.ts\nprovides: [tool]\n', 2, /outside the folder/, 'entrypoint_missing'],
  [
    'command entry missing',
    'id: bad\ncommands:\n  - { path: bad, entry: gone.ts }\n',
    3,
    /'commands\[0\].entry' names 'gone.ts'/,
    'entrypoint_missing',
  ],
  [
    'alias bomb',
    `id: bad\nconfig:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n`,
    1,
    /cannot be read as YAML/,
  ],
  [
    'cyclic alias',
    'id: bad\nconfig: &c\n  inner: { a: *c }\n',
    3,
    /contains itself at 'config.inner.a'/,
    'manifest_invalid',
    /write the value out/,
  ],
  ['two documents', 'id: bad\n---\nid: bad\n', 2, /second document/, 'manifest_invalid', /one document/],
  ['too deep', `id: bad\nconfig: ${'['.repeat(200)}${']'.repeat(200)}`, 2, /YAML/],
  ['open without end', `id: bad\nconfig: ${'['.repeat(20_000)}`, 2, /YAML/],
  ['too long', `id: bad\ndescription: ${'x'.repeat(70_000)}\n`, 1, /bytes/],
  ['not text', 'id: bad\n', 1, /not UTF-8/],
  ['prototype key', 'id: bad\nconfig:\n  __proto__: { polluted: true }\n', 3, /not allowed/],
];

const TOOL = 'id: slip\nentrypoint: main.ts\nprovides: [tool]\n';

/** What is found of an extension `slip` with this manifest. */
async function slipped(manifest: string) {
  const { declarations, failures } = await discoverIn(
    folderWith({ 'extensions/slip/manifest.yaml': manifest, 'extensions/slip/main.ts': '' }),
  );
  return { ...declarations.get('slip')!, failures };
}

describe('a slip in one key', () => {
  it.each([
    ['an unknown key', `${TOOL}descripton: x\n`, 4, /'descripton' is ignored \(did you mean 'description'/],
    ['a bad value', `${TOOL}version: one\n`, 4, /'version' must be .*ignored/],
    ['an unknown key of an agent', 'id: slip\nagent:\n  use_tools: [good]\n', 3, /is ignored \(did you mean 'uses_tools'/],
    [
      'a permission that is no boolean',
      'id: slip\nagent: {}\npermissions: { network: yess }\n',
      3,
      /'permissions.network' must be true or false, not 'yess'/,
    ],
  ])('use.md 3: %s is ignored with its default kept, and reported with file and line', async (_, manifest, line, message) => {
    const { manifest: read, diagnostics, file, failures } = await slipped(manifest);
    expect(failures.size).toBe(0);
    expect(read).toMatchObject({ id: 'slip', description: '', version: '0.0.0', permissions: { network: false } });
    expect(diagnostics).toMatchObject([{ severity: 'warning', file, line, message: expect.stringMatching(message) }]);
  });

  it('use.md 3: a slip in the name of a safeguard counts as that, and is said', async () => {
    const { manifest, diagnostics } = await slipped(`${TOOL}agent: { limits: { max_turn: 3 } }\nenbled: false\n`);
    expect(manifest).toMatchObject({ enabled: null, agent: { limits: { max_turns: 3 } } });
    expect(diagnostics.map(({ line, message }) => [line, message])).toEqual([
      [4, "'agent.limits.max_turn' must be written 'max_turns'; it counts as that"],
      [5, "'enbled' must be written 'enabled'; it counts as that, and switches no guard off"],
    ]);
  });

  it.each(['enabled: flase', 'enbled: flase'])('use.md 3: %s switches it off, and is said', async (slip) => {
    const { manifest, diagnostics } = await slipped(`${TOOL}${slip}\n`);
    expect(manifest?.enabled).toBeNull();
    expect(diagnostics.at(-1)?.message).toBe("'enabled' must be true or false, not 'flase'; it counts as false, and switches no guard off");
  });

  it.each(['agent: { limits: { max_turns: many } }', 'agent: { limit: { max_turns: 1 } }'])(
    'use.md 3: %s is a safeguard, and what cannot be read stops the extension',
    async (slip) => {
      const { failures } = await slipped(`${TOOL}${slip}\n`);
      expect(failures.get('slip')).toMatchObject({ phase: 'validate', line: 4 });
    },
  );
});

describe('a defect in one manifest', () => {
  for (const [name, manifest, line, message, code = 'manifest_invalid', cure = /^/] of DEFECTS) {
    it(`K1 ${name}: that one fails with file, line and code, the others stand`, async () => {
      const sandbox = folderWith({
        ...extension('good', 'agent_keys: [memory]\n'),
        'extensions/bad/manifest.yaml': manifest,
        'extensions/bad/main.ts': '',
      });
      if (name === 'not text')
        fs.writeFileSync(path.join(sandbox, 'extensions/bad/manifest.yaml'), Buffer.from([0x69, 0x64, 0x3a, 0x20, 0xff, 0xfe]));
      const found = await discoverIn(sandbox);
      const { declarations, failures } = found;

      const bad = declarations.get('bad')!;
      expect(bad.manifest).toBeNull();
      const [first] = bad.diagnostics;
      expect(first).toMatchObject({ severity: 'error', code, line, file: path.join(sandbox, 'extensions/bad/manifest.yaml') });
      expect(first!.message).toMatch(message);
      expect(first!.cure ?? '').toMatch(cure);
      expect(failures.get('bad')).toMatchObject({ extensionId: 'bad', phase: 'validate', code, line, file: first!.file });
      expect(able(found)).toEqual(['good']);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    });
  }

  it('K1 an id that is declared twice fails at both places, naming both files', async () => {
    const sandbox = folderWith({ ...extension('twin'), ...extension('good'), 'agents/twin/manifest.yaml': 'id: twin\nagent: {}\n' });
    const discovery = await discoverIn(sandbox);
    const { declarations, failures } = discovery;
    const files = ['extensions/twin/manifest.yaml', 'agents/twin/manifest.yaml'].map((name) => path.join(sandbox, name));
    const found = declarations.get('twin')!.diagnostics;
    expect(found.map(({ code, file }) => [code, file])).toEqual(files.map((file) => ['duplicate_id', file]));
    for (const file of files) expect(found[0]!.message).toContain(file);
    expect(failures.get('twin')?.code).toBe('duplicate_id');
    expect(able(discovery)).toEqual(['good']);
  });

  it('K1 a folder without a manifest, and one with a misspelt one, are told', async () => {
    const sandbox = folderWith({
      ...extension('good'),
      'extensions/empty/main.ts': '',
      'extensions/slip/manifest.yml': 'id: slip\n',
      'extensions/.hidden/x': '',
    });
    const { diagnostics, declarations } = await discoverIn(sandbox);
    expect([...declarations.keys()]).toEqual(['good']);
    expect(diagnostics).toMatchObject([
      { severity: 'warning', code: 'manifest_missing', file: path.join(sandbox, 'extensions/empty') },
      { severity: 'warning', code: 'manifest_missing', cure: 'rename manifest.yml to manifest.yaml' },
    ]);
  });

  it('K1 discovery does not throw where there is nothing, a file, or a link to itself', async () => {
    const sandbox = folderWith({ extensions: 'a file', 'agents/good/manifest.yaml': 'id: good\nagent: {}\n' });
    fs.symlinkSync(path.join(sandbox, 'agents/loop'), path.join(sandbox, 'agents/loop'));
    fs.symlinkSync(path.join(sandbox, 'agents'), path.join(sandbox, 'agents/good/up'));
    const { declarations, diagnostics } = await discoverIn(sandbox, {
      roots: [
        { directory: sandbox, shipped: false },
        { directory: path.join(sandbox, 'nowhere'), shipped: true },
      ],
      agentPaths: [path.join(sandbox, 'none')],
    });
    expect(declarations.get('good')!.manifest).not.toBeNull();
    expect(diagnostics.map(({ code }) => code)).toEqual(['manifest_invalid', 'settings_invalid']);
  });

  const REMEMBERS = { 'agents/one/manifest.yaml': 'id: one\nagent:\n  memory: {}\n' };
  it('K1 a key that a broken extension may own leaves the agent working', async () => {
    const found = await discoverIn(folderWith({ 'extensions/owner/manifest.yaml': 'id: [', ...REMEMBERS }));
    expect(able(found)).toEqual(['one']);
    const [unowned] = found.declarations.get('one')!.diagnostics;
    expect(unowned).toMatchObject({ severity: 'warning', code: 'agent_key_unowned', line: 3 });
  });

  it('K1 a manifest with an error elsewhere still owns its agent keys', async () => {
    const owner = { 'extensions/owner/manifest.yaml': 'id: owner\nagent_keys: [memory]\nversion: x\n' };
    const { declarations } = await discoverIn(folderWith({ ...owner, ...REMEMBERS }));
    expect(declarations.get('one')!.diagnostics).toEqual([]);
  });
});

describe('several roots', () => {
  it('takes what the user declares in place of what is shipped, and marks which is which', async () => {
    const shipped = folderWith({ ...extension('one'), ...extension('two') });
    const own = folderWith(extension('two', 'description: mine\n'));
    const { declarations, failures } = await discoverIn(own, {
      roots: [
        { directory: shipped, shipped: true },
        { directory: own, shipped: false },
      ],
    });
    expect(failures.size).toBe(0);
    expect([...declarations.values()].map(({ id, shipped: isShipped, directory }) => [id, isShipped, directory])).toEqual([
      ['one', true, path.join(shipped, 'extensions/one')],
      ['two', false, path.join(own, 'extensions/two')],
    ]);
  });

  it('J7: looks in a root that is unchanged only into folders that are new', async () => {
    const shipped = folderWith(extension('one'));
    const index = indexIn(folderWith());
    const look = async (unchanged: boolean) => {
      const { declarations } = await discoverIn(folderWith(), { index, roots: [{ directory: shipped, shipped: true, unchanged }] });
      return [...declarations].map(([id, { manifest }]) => `${id}: ${manifest?.description}`);
    };
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 1000); // what was just written is read again
    onTestFinished(() => clock.mockRestore());
    await look(false);
    writeFiles(shipped, { ...extension('one', 'description: edited\n'), ...extension('two', 'description: new\n') });
    expect(await look(true)).toEqual(['one: ', 'two: new']);
    expect(await look(false)).toEqual(['one: edited', 'two: new']);
  });

  it('reads of a root with `only` those, and what they depend on', async () => {
    const shipped = folderWith({
      ...extension('one', 'depends_on: [two]\noptional_depends_on: [five]\n'),
      ...extension('two', 'depends_on: [three, absent]\n'),
      ...extension('three'),
      ...extension('four'),
      ...extension('five'),
      'agents/first/manifest.yaml': 'id: first\ndepends_on: [one]\nagent: {}\n',
      'agents/second/manifest.yaml': 'id: second\nagent: {}\n',
    });
    const own = folderWith(extension('mine'));
    const { declarations, failures, diagnostics } = await discoverIn(own, {
      roots: [
        { directory: shipped, shipped: true, only: ['first'] },
        { directory: own, shipped: false },
      ],
    });
    expect([...declarations.keys()]).toEqual(['first', 'five', 'mine', 'one', 'three', 'two']);
    expect(diagnostics).toEqual([]);
    expect([...failures.keys()].sort()).toEqual(['first', 'one', 'two']);
  });

  it('reads agents of further paths, one folder or many, after those of the sandbox', async () => {
    const agent = '---\nname: N\n---\nFrom the path.';
    const paths = folderWith({ 'many/first/AGENT.md': agent, 'many/mine/AGENT.md': agent, 'single/AGENT.md': agent });
    const own = folderWith({
      'agents/mine/manifest.yaml': 'id: mine\nagent: { instructions: Own. }\n',
      ...extension('reader'),
      'extensions/reader/manifest.yaml': 'id: reader\nentrypoint: main.ts\nprovides: [agents]\nagent_files: [AGENT.md]\n',
    });
    const { declarations, diagnostics } = await discoverIn(own, { agentPaths: [path.join(paths, 'many'), path.join(paths, 'single')] });
    expect([...declarations.keys()]).toEqual(['first', 'mine', 'reader', 'single']);
    expect(declarations.get('single')).toMatchObject({ manifest: null, readBy: 'reader', file: path.join(paths, 'single/AGENT.md') });
    expect(declarations.get('mine')!.manifest!.agent!.instructions).toBe('Own.');
    expect(diagnostics).toMatchObject([{ severity: 'info', code: 'duplicate_id', file: path.join(paths, 'many/mine/AGENT.md') }]);
  });

  it('follows a linked folder', async () => {
    const elsewhere = folderWith(extension('linked'));
    const own = folderWith({ 'extensions/.keep': '' });
    fs.symlinkSync(path.join(elsewhere, 'extensions/linked'), path.join(own, 'extensions/linked'));
    expect(able(await discoverIn(own))).toEqual(['linked']);
  });
});
