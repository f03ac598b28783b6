import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettings, type SettingsInput } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';

describe('settings', () => {
  it.each(['.', '../sandbox'])('T7: data_dir %j is the sandbox itself, where sources lie: its folder data is used', async (data_dir) => {
    const { settings, diagnostics, sandbox } = await load({ 'sandbox/pith.yaml': `data_dir: ${data_dir}\n` });
    expect(settings.data_dir).toBe(path.join(sandbox, 'data'));
    expect(diagnostics).toMatchObject([{ code: 'settings_invalid', severity: 'error', message: expect.stringContaining('data_dir') }]);
  });

  it('K7 without any file the defaults hold', async () => {
    const { settings, diagnostics, sandbox } = await load({});
    expect(diagnostics).toEqual([]);
    expect(settings).toMatchObject({
      default_agent: 'orchestrator',
      agents: { paths: [] },
      data_dir: path.join(sandbox, 'data'),
      skills: {},
    });
    expect(Object.isFrozen(settings.agents.paths)).toBe(true);
  });

  it('K7 defaults < home < sandbox < environment < flags, maps key by key and lists whole', async () => {
    const { settings } = await load({
      'home/.pith/config.yaml':
        'default_agent: home\nadmins: [home]\nmodels: { default: home/a, fast: home/b, standard: home/c, thinking: home/d }\nskills: { disabled: [x, y], poll_seconds: 1 }\n',
      'sandbox/pith.yaml':
        'admins: [sandbox]\nmodels: { fast: sandbox/b, standard: sandbox/c, thinking: sandbox/d }\nskills: { disabled: [z] }\n',
      env: { PITH_MODEL_STANDARD: 'env/c', PITH_MODEL_THINKING: 'env/d', PITH_DEFAULT_AGENT: '' },
      flags: { models: { thinking: 'flag/d' }, skills: { enabled: false } },
    });
    expect(settings.models).toEqual({ default: 'home/a', fast: 'sandbox/b', standard: 'env/c', thinking: 'flag/d' });
    expect(settings.default_agent).toBe('home');
    expect(settings.admins).toEqual(['sandbox']);
    expect(settings.skills).toEqual({ disabled: ['z'], poll_seconds: 1, enabled: false });
  });

  it('K7 each variable of the environment sets its key', async () => {
    const { settings, diagnostics } = await load({
      env: {
        PITH_MODEL: 'a/b',
        PITH_DEFAULT_AGENT: 'me',
        PITH_DATA_DIR: '/elsewhere',
        PITH_ADMINS: 'x, y',
        PITH_AGENTS_PATHS: '/agents',
        PITH_SKILLS_POLL_SECONDS: '9',
        PITH_SKILLS_ALLOWED: '["a"]',
        PITH_SKILLS_SKILLS_PATH: '/s',
        PITH_SANDBOX: '/x',
        OTHER: '1',
        PITH_ZZZ: '1',
        PITH_MASTER_KEY: 'x',
      },
    });
    expect(diagnostics).toEqual([]);
    expect(settings).toMatchObject({
      models: { default: 'a/b' },
      default_agent: 'me',
      data_dir: '/elsewhere',
      admins: ['x', 'y'],
      agents: { paths: ['/agents'] },
      skills: { poll_seconds: 9, allowed: ['a'], skills_path: '/s' },
    });
  });

  it('K7 a variable with a slip in its name is told', async () => {
    const { diagnostics } = await load({ env: { PITH_MODLE: 'a/b' } });
    expect(diagnostics).toMatchObject([
      { severity: 'warning', code: 'unknown_key', message: expect.stringContaining("did you mean 'PITH_MODEL'") },
    ]);
  });

  for (const [name, text, expected] of [
    ['unknown key', 'default_agent: me\ndefault_agnet: x\n', { code: 'unknown_key', line: 2, message: /did you mean 'default_agent'\?/ }],
    [
      'unknown inner key',
      'default_agent: me\nmodels:\n  defualt: a/b\n',
      { code: 'unknown_key', line: 3, message: /^unknown key 'defualt' in 'models' is ignored \(did you mean 'default'/ },
    ],
    [
      'wrong type',
      'default_agent: me\nagents:\n  paths: one\n',
      { code: 'settings_invalid', line: 3, message: /'agents.paths' must be a list, not a string/ },
    ],
    [
      'wrong item',
      'default_agent: me\nadmins:\n  - fine\n  - 7\n',
      { code: 'settings_invalid', line: 4, message: /'admins\[1\]' must be a string, not 7/ },
    ],
    [
      'wrong choice',
      'default_agent: me\nextensions:\n  kv: { isolation: proces }\n',
      { code: 'settings_invalid', line: 3, message: /'process'\?/ },
    ],
    ['duplicate key', 'default_agent: x\ndefault_agent: me\n', { code: 'settings_invalid', line: 2, message: /twice/ }],
  ] as const) {
    it(`K7 ${name}: told with file and line, and the rest of the file holds`, async () => {
      const { settings, diagnostics, sandbox } = await load({ 'sandbox/pith.yaml': text });
      expect(diagnostics).toHaveLength(1);
      const { message, ...rest } = expected;
      expect(diagnostics[0]).toMatchObject({ ...rest, severity: 'error', file: path.join(sandbox, 'pith.yaml') });
      expect(diagnostics[0]!.message).toMatch(message);
      expect(settings.default_agent).toBe('me');
      expect(settings.admins).toEqual([]);
    });
  }

  it('K7 a section whose values are all comments says nothing', async () => {
    const { settings, diagnostics } = await load({
      'sandbox/pith.yaml': 'skills:\n  # poll_seconds: 5\nextensions:\n  kv:\n    # limit: 1\nmodels: { default: }\n',
    });
    expect(diagnostics).toEqual([]);
    expect(settings).toMatchObject({ skills: {}, extensions: {}, models: {} });
  });

  it('K7 a file that is no YAML is left out whole; the other layers hold', async () => {
    const { settings, diagnostics } = await load({
      'home/.pith/config.yaml': 'default_agent: home\n',
      'sandbox/pith.yaml': 'default_agent: [\n',
      env: { PITH_MODEL: 'a/b' },
    });
    expect(diagnostics).toMatchObject([
      { severity: 'error', code: 'settings_invalid', message: expect.stringContaining('not valid YAML') },
    ]);
    expect(settings).toMatchObject({ default_agent: 'home', models: { default: 'a/b' } });
  });

  for (const [name, text] of [
    ['a tab', 'approvals:\n\ttools: [hello]\n'],
    ['a key twice', 'approvals: { tools: [hello] }\nextensions: {}\nextensions: {}\n'],
    ['a slip below', 'approvals: { tool: [hello] }\n'],
    ['a slip in its name', 'aprovals: { tools: [hello] }\n'],
    ['a wrong value', 'approvals: { tools: hello }\n'],
    ['no map', '- approvals\n'],
  ] as const) {
    it(`K50 ${name}: where approvals cannot be read whole, every tool asks`, async () => {
      const { settings, diagnostics } = await load({ 'sandbox/pith.yaml': text });
      expect(settings.approvals.tools).toEqual(['*']);
      expect(diagnostics[0]).toMatchObject({ severity: 'error', cure: expect.stringContaining('every tool asks') });
    });
  }

  it.each([
    ['skils: { disabled: [x] }', { skills: { disabled: ['x'] } }, /'skils' must be written 'skills'; it counts as that/u],
    ['extension: { kv: { enabled: false } }', { extensions: { kv: { enabled: null } } }, /'extension' must be written 'extensions'/u],
    ['extension: { kv: { enabled: of } }', { extensions: { kv: { enabled: null } } }, /'extension' must be written 'extensions'/u],
    ['skils: { disabled: [x] }\nskills: { disabled: [y] }', { skills: { disabled: ['y'] } }, /unknown key 'skils' is ignored/u],
    ['skils: 7', { skills: { enabled: false } }, /'skils' must be written 'skills'; it counts as that/u],
  ])('a slip in the name of a block that holds safeguards counts as that: %s', async (text, holds, said) => {
    const { settings, diagnostics } = await load({ 'sandbox/pith.yaml': `# first\n${text}\n` });
    expect(settings).toMatchObject(holds);
    expect(settings.approvals.tools).toEqual([]);
    expect(diagnostics[0]).toMatchObject({ line: 2, message: expect.stringMatching(said) });
  });

  it('G12 names the place of a key that other systems have at the top', async () => {
    const { diagnostics } = await load({ 'sandbox/pith.yaml': 'skills_path: more\n' });
    expect(diagnostics).toMatchObject([{ line: 1, code: 'unknown_key', cure: 'write it as skills.skills_path' }]);
  });

  it('says a bound in words', async () => {
    const { diagnostics } = await load({ 'sandbox/pith.yaml': 'quotas: { logs: 0 }\ndefault_agent: ""\n' });
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "'quotas.logs' must be at least 1 (ignored)",
      "'default_agent' must not be empty (ignored)",
    ]);
  });

  it('K50 what is said of approvals stands at the finding on them, in the order of the file', async () => {
    const text = 'extensoins: { kv: { enabled: false } }\nstuff: { disabled: [x] }\naprovals: { tools: [hello] }\nskils: {}\n';
    const { settings, diagnostics } = await load({ 'sandbox/pith.yaml': text });
    expect(diagnostics.map(({ line, cure }) => [line, cure])).toEqual([
      [1, 'correct the name'],
      [2, expect.stringMatching(/^use one of: /u)],
      [3, 'correct it; until then every tool asks before it runs'],
      [4, 'correct the name'],
    ]);
    expect([settings.extensions, settings.skills]).toEqual([{ kv: { enabled: null } }, {}]);
  });

  it('K50 an error elsewhere leaves approvals as they are', async () => {
    const { settings } = await load({ 'sandbox/pith.yaml': 'skillz: {}\napprovals: { tools: [hello] }\n' });
    expect(settings.approvals.tools).toEqual(['hello']);
  });

  it('K7 a key where its name belongs is refused without being repeated', async () => {
    const { diagnostics } = await load({ 'sandbox/pith.yaml': 'providers:\n  openai: { api_key_env: sk-canary-123 }\n' });
    expect(diagnostics).toMatchObject([
      { line: 2, message: "'providers.openai.api_key_env' must be the name of an environment variable, not a key (ignored)" },
    ]);
    expect(JSON.stringify(diagnostics)).not.toContain('canary');
  });

  it('K7 paths are relative to their file, and ~ is the home folder', async () => {
    const { settings, sandbox, home } = await load({
      'sandbox/pith.yaml': 'data_dir: state\nagents: { paths: [../more, ~/agents, /abs] }\n',
    });
    expect(settings.data_dir).toBe(path.join(sandbox, 'state'));
    expect(settings.agents.paths).toEqual([path.join(path.dirname(sandbox), 'more'), path.join(home, 'agents'), '/abs']);
  });

  it.each(['['.repeat(1000), '{a: '.repeat(1000), '- '.repeat(100)])(
    'F4 what nests far too deep is said and parsed by nobody',
    async (yaml) => {
      const { diagnostics } = await load({ 'sandbox/pith.yaml': yaml });
      expect(diagnostics).toMatchObject([{ severity: 'error', message: expect.stringContaining('more than 64 levels of nesting') }]);
    },
  );

  it('K7 every value keeps where it was set', async () => {
    const { settings } = await load({
      'home/.pith/config.yaml': 'admins: [me]\n',
      'sandbox/pith.yaml': '# first\nskills:\n  sources: [a]\n  poll_seconds: 3\n',
      env: { PITH_MODEL: 'a/b' },
      flags: { default_agent: 'x' },
    });
    expect(settings.origins).toMatchObject({
      'skills.poll_seconds': 'sandbox/pith.yaml:4',
      'skills.sources': 'sandbox/pith.yaml:3',
      admins: '~/.pith/config.yaml:1',
      'models.default': 'environment PITH_MODEL',
      default_agent: 'flag',
    });
    expect(settings.origins).not.toHaveProperty('data_dir');
  });
});

interface Given {
  readonly [file: `home/${string}` | `sandbox/${string}`]: string;
  readonly env?: Record<string, string>;
  readonly flags?: SettingsInput;
}

function load({ env = {}, flags = {}, ...files }: Given) {
  return from(folderWith({ 'home/.keep': '', 'sandbox/.keep': '', ...(files as Record<string, string>) }), env, flags);
}

async function from(root: string, env: Record<string, string>, flags: SettingsInput) {
  const sandbox = path.join(root, 'sandbox');
  const home = path.join(root, 'home');
  return { sandbox, home, ...(await loadSettings({ sandbox, home, env, flags, workingDirectory: root })) };
}
