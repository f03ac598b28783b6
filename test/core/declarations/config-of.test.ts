import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimsOf, configOf, enabledBy, loadSettings, type SettingsInput, withIdsMeant } from '../../../core/declarations/index.ts';
import { testKernel } from 'pith/testing';
import { folderWith, writeFiles } from '../../places.ts';
import { discoverIn } from './sandbox-folder.ts';

const SKILLFUL = 'id: registry\nentrypoint: main.ts\nprovides: [skill]\nconfig:\n  a: 1\n  b: 1\n  c: 1\n  deep: { x: 1, y: 1 }\n';

describe('config', () => {
  it('K7 manifest < extensions.<id> < the skills block, which only the provider of skills claims', async () => {
    const yaml =
      'extensions:\n  registry: { b: 2, c: 2, deep: { y: 2 }, enabled: true, isolation: in_process }\n  plain: { k: 2 }\nskills:\n  c: 3\n  enabled: false\n';
    const { registry, plain, settings } = await setUp(yaml);
    expect(configOf(registry, settings)).toMatchObject({ enabled: true, isolation: 'in_process' });
    expect(configOf(registry, settings).config).toEqual({ a: 1, b: 2, c: 3, deep: { x: 1, y: 2 }, enabled: false });
    expect(configOf(plain, settings)).toMatchObject({ enabled: true, isolation: null, config: { k: 2 } });
    expect(registry.manifest!.config).toEqual({ a: 1, b: 1, c: 1, deep: { x: 1, y: 1 } });
  });

  it('K7 a setting goes to each extension that claims it, else to the provider of skills; a claim of a stranger counts for nothing', async () => {
    const { registry, plain, settings } = await setUp('skills: { enabled: false, scripts: { timeout_s: 1 }, poll_seconds: 0 }\n');
    const claiming = (from: typeof plain, ...claims: string[]) => ({ ...from, shipped: true, manifest: { ...from.manifest!, claims } });
    const both = [claiming(registry, 'skills.enabled'), claiming(plain, 'skills.scripts', 'skills.enabled')] as const;
    const given = (declarations: Parameters<typeof claimsOf>[0]) =>
      both.map((each) => configOf(each, settings, { claims: claimsOf(declarations) }).config);
    expect(given(both)).toMatchObject([
      { enabled: false, poll_seconds: 0 },
      { enabled: false, scripts: { timeout_s: 1 } },
    ]);
    expect(given(both)[0]).not.toHaveProperty('scripts');
    const strangers = both.map((each) => ({ ...each, shipped: false }));
    expect(given(strangers)[0]).toMatchObject({ enabled: false, scripts: { timeout_s: 1 } });
    expect(given(strangers)[1]).toEqual({ k: 1 });
  });

  it('K7 T10 a claim gives a stranger no secret: neither variables of scripts, nor the key of a prefix that ships', async () => {
    const yaml =
      'skills:\n  scripts: { env: [SCRIPTS_KEY] }\nextensions:\n  registry: { env: [OWN_KEY] }\nproviders:\n  mine: { api_key_env: MY_KEY }\n';
    const { registry, plain, settings } = await setUp(yaml);
    expect(configOf(registry, settings).secrets).toEqual(['OWN_KEY']);
    expect(configOf({ ...registry, shipped: true }, settings).secrets).toEqual(['OWN_KEY', 'SCRIPTS_KEY']);
    const prefixes = new Set(['mine']);
    expect(configOf(plain, settings, { prefixes }).secrets).toEqual(['DECLARED']);
    expect(configOf({ ...plain, shipped: true }, settings, { prefixes }).secrets).toEqual(['DECLARED', 'MY_KEY']);
  });

  it('K7 a switch of the manifest lays its config over all settings, where it stands on the command line', async () => {
    const { plain, settings } = await setUp('extensions:\n  plain: { k: 2, l: 2 }\n');
    const switched = { ...plain, manifest: { ...plain.manifest!, switches: [{ name: 'less', description: '', config: { k: 0 } }] } };
    expect(configOf(switched, settings, { switches: ['less', 'more'] }).config).toEqual({ k: 0, l: 2 });
    expect(configOf(switched, settings, { switches: ['more'] }).config).toEqual({ k: 2, l: 2 });
  });

  it('K7 a key is named by the place that set it', async () => {
    const { registry, settings } = await setUp('extensions:\n  registry:\n    b: 2\nskills:\n  c: 3\n  sources: [a, b]\n');
    const { where } = configOf(registry, settings);
    expect(where('c')).toBe('sandbox/pith.yaml:5 skills.c');
    expect(where('sources.1')).toBe('sandbox/pith.yaml:6 skills.sources.1');
    expect(where('b')).toBe('sandbox/pith.yaml:3 extensions.registry.b');
    expect(where('deep.x')).toBe(`${registry.file}:8 config.deep.x`);
    expect(where('absent')).toBe('skills.absent');
  });

  it('K7 providers reach the extension that offers their prefix, and no other', async () => {
    const { registry, plain, settings } = await setUp(
      'providers:\n  mine: { base_url: "http://a/v1" }\n  other: { base_url: "http://b/v1" }\n',
    );
    expect(configOf(plain, settings).config).toEqual({ k: 1, providers: { mine: { base_url: 'http://a/v1' } } });
    expect(configOf(plain, settings).where('providers.mine.base_url')).toBe('sandbox/pith.yaml:2 providers.mine.base_url');
    expect(configOf(registry, settings).config).not.toHaveProperty('providers');
  });

  it('K61 the settings grant a key to the extension that offers the prefix, and no extension grants itself one', async () => {
    const { registry, plain, settings } = await setUp(
      'providers:\n  mine: { api_key_env: MY_KEY }\n  other: { api_key_env: OTHER_KEY }\nextensions:\n  registry: { providers: { mine: { api_key_env: TAKEN } } }\n',
    );
    expect(configOf(plain, settings).secrets).toEqual(['DECLARED', 'MY_KEY']);
    expect(configOf(registry, settings).secrets).toEqual([]);
  });

  it('use.md 3 a misspelt key that every block may hold is named, and a misspelt enabled: false counts', async () => {
    const { settings, plain, registry } = await setUp(
      'extensions:\n  plain:\n    enabld: false\n  registry:\n    memory_mbb: 64\n    a: 2\n',
    );
    expect(await found('extensions:\n  plain:\n    enabld: false\n  registry:\n    memory_mbb: 64\n    a: 2\n')).toEqual([
      "sandbox/pith.yaml:3: 'extensions.plain.enabld' must be written 'enabled'; it counts as false, and switches no guard off",
      "sandbox/pith.yaml:5: unknown key 'memory_mbb' in 'extensions.registry' is ignored (did you mean 'memory_mb'?)",
    ]);
    expect(enabledBy(settings)(plain)).toBe(false);
    expect(configOf(plain, settings).enabled).toBe(false);
    expect(enabledBy(settings)(registry)).toBe(true);
  });

  it.each([
    ['isolaton: process', 'process'],
    ['isolaton: proces', 'process'],
    ['isolation: proces', 'process'],
    ['isolaton: in_process', null],
  ])('use.md 3 a slip of what keeps an extension out of the kernel keeps it out: %s', async (text, isolation) => {
    const { settings, plain } = await setUp(`extensions: { plain: { ${text} } }\n`);
    const { config, isolation: found } = configOf(plain, settings);
    expect([found, Object.keys(config).includes('isolaton')]).toEqual([isolation, false]);
  });

  it.each(['false', 'off', '{ enabled: flase }', '{ enabeld: "no" }', '{ enabeld: false }'])(
    'use.md 3 what may be meant to switch an extension off does: %s',
    async (block) => {
      const { settings, plain } = await setUp(`extensions: { plain: ${block} }\n`);
      expect(configOf(plain, settings).enabled).toBe(false);
    },
  );

  it.each(['{ enabled: flase }', '{ enabeld: false }', '{ enabled: "false" }', 'off', 'false', '{ enabled: null }'])(
    'A3 only a plain enabled: false switches a guard off, whatever a slip does to others: %s',
    async (block) => {
      const { settings, plain } = await setUp(`extensions: { plain: ${block}, plai: { enabled: false } }\n`);
      const on = (written: typeof settings, manifest: typeof plain.manifest, guard?: 'named' | 'agreed') =>
        configOf({ ...plain, manifest, ...(guard && { guard }) }, written).enabled;
      const off = { ...settings, extensions: { plain: { enabled: false } } };
      for (const written of [settings, withIdsMeant({ ...settings, extensions: { plai: { enabled: false } } }, ['plain'])]) {
        expect([on(written, plain.manifest, 'named'), on(written, null, 'agreed')]).toEqual([true, true]);
        expect(on(off, plain.manifest, 'named')).toBe(false);
      }
      for (const enabled of [null, false] as const)
        expect(on({ ...settings, extensions: {} }, { ...plain.manifest!, enabled }, 'named')).toBe(enabled === null);
    },
  );

  it('an option that only the class knows is no misspelt key, except a boolean close to enabled', async () => {
    const yaml = 'extensions:\n  plain: { secret: x, enable: [a], memory_gb: big }\n  registry: { enable: false }\n';
    const { settings, plain } = await setUp(yaml);
    expect(await found(yaml)).toEqual([expect.stringContaining("'extensions.registry.enable'")]);
    expect(enabledBy(settings)(plain)).toBe(true);
    expect(enabledBy(settings)({ ...plain, id: 'registry' })).toBe(false);
  });

  it('use.md 3 what a block of a misspelt id switches off counts for every id that it is a slip of', async () => {
    const yaml = 'extensions:\n  plainn: { enabled: false, secrets: [A] }\n  plai: { isolation: process }\n  plain2: { enabled: false }\n';
    const { settings } = await setUp(yaml);
    const meant = withIdsMeant(settings, ['plain', 'plaid']);
    expect(meant.extensions).toMatchObject({ plain: { enabled: null, isolation: 'process' }, plaid: { isolation: 'process' } });
    expect(meant.extensions['plain']).not.toHaveProperty('secrets');
    expect(meant.extensions['plaid']).not.toHaveProperty('enabled');
    const plaid = {
      'extensions/plaid/manifest.yaml': 'id: plaid\nentrypoint: main.ts\nprovides: [tool]\n',
      'extensions/plaid/main.ts': '',
    };
    expect(await found(yaml, plaid)).toEqual([
      expect.stringMatching(/nothing declares 'plainn'; its 'enabled' counts for 'plain', and switches no guard off$/u),
      expect.stringMatching(/nothing declares 'plai'; its 'isolation' counts for 'plaid' and 'plain'$/u),
      expect.stringMatching(/nothing declares 'plain2' \(did you mean 'plain' or 'plaid'\?\)$/u),
    ]);
    expect(await found('extensions: { plainn: { enabled: false }, plain: { enabled: true } }\n')).toEqual([
      expect.stringMatching(/nothing declares 'plainn' \(did you mean 'plain'\?\)$/u),
    ]);
    expect(withIdsMeant(settings, ['plain', 'plainn', 'plai', 'plain2'])).toBe(settings);
  });

  it('K7 settings switch on and off, also what is broken; flags win', async () => {
    const { settings, registry } = await setUp('extensions:\n  registry: { enabled: false }\n  broken: { enabled: false }\n');
    expect(enabledBy(settings)(registry)).toBe(false);
    expect(enabledBy(settings)({ id: 'broken', manifest: null })).toBe(false);
    expect(enabledBy(settings)({ id: 'plain', manifest: null })).toBe(true);
    const flagged = await setUp('extensions:\n  registry: { enabled: false }\n', { extensions: { registry: { enabled: true } } });
    expect(configOf(flagged.registry, flagged.settings).enabled).toBe(true);
  });

  it('K7 a block for an id that nothing declares is told with its place and the nearest', async () => {
    expect(await found('extensions:\n  registri: { a: 1 }\n')).toEqual([
      "sandbox/pith.yaml:2 extensions.registri: nothing declares 'registri' (did you mean 'registry'?)",
    ]);
  });
});

const files = (yaml: string) => ({
  'pith.yaml': yaml,
  'extensions/registry/manifest.yaml': SKILLFUL,
  'extensions/registry/main.ts': '',
  'extensions/plain/manifest.yaml':
    'id: plain\nentrypoint: main.ts\nprovides: [model]\nmodels: [{ prefix: mine }]\nsecrets: [DECLARED]\nconfig: { k: 1 }\n',
  'extensions/plain/main.ts': '',
});

/** What is said of these settings. */
async function found(yaml: string, more: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  await using test = await testKernel({ only: [], files: { ...files(yaml), ...more } });
  return test.kernel.findings().map(({ message }) => message);
}

async function setUp(yaml: string, flags: SettingsInput = {}) {
  const sandbox = path.join(folderWith({}), 'sandbox');
  writeFiles(sandbox, files(yaml));
  const { settings } = await loadSettings({ sandbox, env: {}, flags, workingDirectory: sandbox });
  const { declarations } = await discoverIn(sandbox);
  return { settings, registry: declarations.get('registry')!, plain: declarations.get('plain')! };
}
