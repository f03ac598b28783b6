import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { testKernel, type TestKernel } from 'pith/testing';
import { openKernel } from '../../../core/cli/index.ts';
import { weakened, openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { cli } from '../cli/fakes.ts';
import { folderWith } from '../../places.ts';

/** A setting of a sandbox, what it says to loosen, what a person has said themselves so that it loosens nothing, and a value that never does. */
const ROWS = [
  ['extensions_sandbox', { extensions_sandbox: 'off' }, /without a sandbox/, { extensions_sandbox: 'off' }, { extensions_sandbox: 'auto' }],
  [
    'extensions.helper.isolation',
    { extensions: { helper: { isolation: 'in_process' } } },
    /helper runs inside Pith/,
    { extensions: { helper: { isolation: 'in_process' } } },
    { extensions: { helper: { isolation: 'process' } } },
  ],
  [
    'skills.scripts.sandbox',
    { skills: { scripts: { sandbox: 'none' } } },
    /scripts of skills run without a sandbox/,
    { skills: { scripts: { sandbox: 'none' } } },
    { skills: { scripts: { sandbox: 'required' } } },
  ],
  [
    'skills.scripts.approval',
    { skills: { scripts: { approval: 'never' } } },
    /without a question/,
    { skills: { scripts: { approval: 'never' } } },
    { skills: { scripts: { approval: 'always' } } },
  ],
  [
    'skills.trusted_links',
    { skills: { trusted_links: ['/elsewhere'] } },
    /\/elsewhere/,
    { skills: { trusted_links: ['/elsewhere'] } },
    { skills: { trusted_links: [] } },
  ],
  [
    'skills.private_origins',
    { skills: { private_origins: ['https://skills.example'] } },
    /skills\.example/,
    { skills: { private_origins: ['https://skills.example'] } },
    { skills: { private_origins: [] } },
  ],
  [
    'skills.scripts.env',
    { skills: { scripts: { env: ['A_KEY'] } } },
    /A_KEY/,
    { skills: { scripts: { env: ['A_KEY'] } } },
    { skills: { scripts: { env: [] } } },
  ],
  ['quotas', { quotas: { data_mb: 90_000 } }, /90000/, { quotas: { data_mb: 90_000 } }, { quotas: { data_mb: 1 } }],
] as const;
const LIMITS = { quotas: { data_mb: 1024 } };

describe('safeguards that a sandbox loosens', () => {
  it.each(ROWS)('T4: %s is said, unless the person has it so themselves', (setting, values, effect, own, harmless) => {
    expect(weakened(values, LIMITS)).toEqual([{ setting, effect: expect.stringMatching(effect) }]);
    expect(weakened(values, own)).toEqual([]);
    expect(weakened(harmless, LIMITS)).toEqual([]);
  });

  it('T4: skills.trust: who wants to be asked about every change is told that they are not', () => {
    const said = (own: Readonly<Record<string, unknown>>) => weakened({ skills: { trust: 'auto' } }, own);
    expect(said({ skills: { trust: 'ask' } })).toEqual([{ setting: 'skills.trust', effect: expect.stringMatching(/without a question/) }]);
    expect(said({})).toEqual([]);
    expect(weakened({ skills: { trust: 'ask' } }, {})).toEqual([]);
  });

  it('T4: approvals.tools: of what a person is asked about, what the sandbox leaves out is said', () => {
    const own = { approvals: { tools: ['file_write', 'mcp_*'] } };
    const said = (tools: readonly string[]) => weakened({ approvals: { tools } }, own).map(({ effect }) => effect);
    expect(said([])).toEqual(['you are not asked about file_write, mcp_*']);
    expect(said(['file_write'])).toEqual(['you are not asked about mcp_*']);
    for (const tools of [['*'], ['file_write', 'mcp_*'], ['more', 'mcp_*', 'file_write']]) expect(said(tools)).toEqual([]);
    expect(weakened({}, own)).toEqual([]);
  });
});

describe('a person with settings of their own', () => {
  let root: string;
  let sandbox: string;
  let home: string;
  let test: TestKernel | undefined;
  beforeEach(() => {
    root = folderWith();
    home = path.join(root, 'home');
    sandbox = path.join(root, 'project/sandbox');
    for (const folder of [path.join(home, '.pith'), sandbox]) mkdirSync(folder, { recursive: true });
    vi.stubEnv('HOME', home);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await test?.stop();
    test = undefined;
  });
  const own = (settings: object) => writeFileSync(path.join(home, '.pith/config.yaml'), JSON.stringify(settings), { mode: 0o600 });
  const theirs = (settings: object) => writeFileSync(path.join(sandbox, 'pith.yaml'), JSON.stringify(settings));
  const run = (...argv: string[]) => cli(argv, { cwd: path.dirname(sandbox), openKernel, env: { PITH_TRUST: '0' } });

  it('T4: doctor says of a trusted sandbox which safeguards it loosens, each with its file', async () => {
    own({ approvals: { tools: ['kv_set'] }, skills: { trust: 'ask' } });
    theirs({
      extensions_sandbox: 'off',
      approvals: { tools: [] },
      extensions: { helper: { isolation: 'in_process' } },
      quotas: { data_mb: 90_000 },
      skills: {
        trust: 'auto',
        trusted_links: [root],
        private_origins: ['https://skills.example'],
        scripts: { sandbox: 'none', approval: 'never', env: ['A_KEY'] },
      },
    });
    trustSandbox(openTrustFile(home), sandbox);
    const { notes } = JSON.parse((await run('doctor', '--json')).out) as { notes: readonly { code: string; message: string }[] };
    const messages = notes.filter(({ code }) => code === 'safeguard_loosened').map(({ message }) => message);
    for (const setting of [...ROWS.map(([name]) => name), 'approvals.tools', 'skills.trust'])
      expect(messages).toContainEqual(expect.stringMatching(new RegExp(`pith\\.yaml:\\d+ ${setting.replaceAll('.', '\\.')}: `)));
    expect(messages).toHaveLength(ROWS.length + 2);
  });

  it('T2: is asked about all that they named in a restricted sandbox, and about what it adds', async () => {
    own({ approvals: { tools: ['kv_set', 'file'] } });
    theirs({ approvals: { tools: ['list_skills'] } });
    test = await testKernel({ only: ['skill_registry'], sandbox, home, accepts: false });
    expect(test.kernel.trust.level).toBe('restricted');
    expect([...test.kernel.settings.approvals.tools].sort()).toEqual(['file', 'kv_set', 'list_skills']);
  });

  it('T2: keeps skills switched off in a restricted sandbox that says otherwise', async () => {
    own({ skills: { disabled: ['code-review'] } });
    const stateOf = async () => {
      const skills = JSON.parse((await run('skills', 'list', '--all', '--json')).out) as readonly { id: string; state: string }[];
      return skills.find(({ id }) => id === 'code-review')?.state;
    };
    for (const skills of [{}, { disabled: [] }, { disabled: ['other'], enabled: true }]) {
      theirs({ skills });
      expect(await stateOf()).toBe('disabled');
    }
    own({});
    theirs({ skills: { disabled: ['code-review'] } }); // what only tightens holds
    expect(await stateOf()).toBe('disabled');

    own({ skills: { enabled: false } });
    theirs({ skills: { enabled: true } });
    test = await testKernel({ only: ['skill_registry'], sandbox, home, accepts: false });
    expect(test.kernel.settings.skills).toMatchObject({ enabled: false });
    expect(await test.kernel.host.providers.tools.of('skill_registry')).toEqual([]);
  });
});
