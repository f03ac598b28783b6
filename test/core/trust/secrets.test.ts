import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { PithError } from '../../../core/contract/index.ts';
import { createSecrets, openSecretsFile } from '../../../core/trust/index.ts';
import { folderWith } from '../../places.ts';
import { words } from '../../words.ts';

const alias = Object.fromEntries(readdirSync('packages').map((name) => [`@pith/${name}`, path.resolve('packages', name, 'index.ts')]));

function redacted(value: string): boolean {
  const secrets = createSecrets({ NAME: value });
  secrets.declare(['NAME']);
  return secrets.redact(`before ${value} after`) === 'before [secret NAME] after';
}

it('K61 a value that another process keeps is kept out of texts from then on', () => {
  const home = folderWith();
  const file = openSecretsFile(home);
  const secrets = createSecrets({}, file);
  secrets.declare(['KEY']);
  openSecretsFile(home).keep('KEY', { value: 'canary-1234', for: [] });
  expect(secrets.redact('canary-1234')).toBe('[secret KEY]');
});

describe('a declared secret', () => {
  it.each(['http://127.0.0.1:8080/v1', 'https://models.example.com/openai/v1/', 'https://example.com'])(
    'K61 that is the mere address of a server is named in texts: %s',
    (address) => expect(redacted(address)).toBe(false),
  );

  it.each(
    words(`
    https://user:word@example.com/v1 https://token@example.com/v1 https://example.com/v1?key=abc https://example.com/v1#abc
    https://hooks.example.com/services/T00000000/B00000000/XyZabc0123456789XyZabc01 postgres://example.com/base
    canary-0123456789
  `),
  )('K61 is kept out of texts: %s', (value) => expect(redacted(value)).toBe(true));
});

describe('V9 the proxies of a person', () => {
  it('are found however they are written, and in no project', () => {
    const project = { get: () => 'http://theirs:1' } as unknown as Parameters<typeof createSecrets>[2];
    const given = (env: Record<string, string>, name: string) =>
      createSecrets(env, undefined, project).get(name, { recipient: 'extension:x', isDefault: true });
    expect(given({ https_proxy: 'http://p:1' }, 'HTTPS_PROXY')).toBe('http://p:1');
    expect(given({ HTTPS_PROXY: 'http://p:2', https_proxy: '' }, 'HTTPS_PROXY')).toBe('http://p:2');
    expect(given({}, 'HTTPS_PROXY')).toBeNull();
    expect(given({ other: 'x' }, 'OTHER')).toBe('http://theirs:1');
  });

  it('are named in texts, and only a password in them is not', () => {
    const secrets = createSecrets({ ALL_PROXY: 'http://me:p%40ssword@proxy.corp:3128', NO_PROXY: 'localhost,.corp' });
    secrets.declare(['ALL_PROXY', 'NO_PROXY']);
    expect(secrets.redact('localhost and .corp by proxy.corp:3128 with me:p@ssword, p%40ssword')).toBe(
      'localhost and .corp by proxy.corp:3128 with me:[secret ALL_PROXY], [secret ALL_PROXY]',
    );
  });
});

it('K61 an error keeps all that it says without the secret, what is wrong at each field too', () => {
  const secrets = createSecrets({ KEY: 'canary-0123456789' });
  secrets.declare(['KEY']);
  const problems = [{ path: ['headers', 0], message: 'canary-0123456789 is no header' }];
  const error = new PithError('config_invalid', 'canary-0123456789', { cure: 'correct it', retryAfterMs: 9, statusCode: 400, problems });
  expect(secrets.redactError(error)).toMatchObject({
    code: 'config_invalid',
    message: '[secret KEY]',
    cure: 'correct it',
    retryAfterMs: 9,
    statusCode: 400,
    problems: [{ path: ['headers', 0], message: '[secret KEY] is no header' }],
  });
});

it('K61 a value that was kept since is hidden from the moment that a process is given it', () => {
  let kept: readonly { readonly value: string; readonly for: readonly string[] }[] = [];
  const secrets = createSecrets({}, { get: () => kept });
  secrets.declare(['LATER']);
  kept = [{ value: 'canary-0123456789', for: ['extension:mine'] }];
  expect(secrets.share('LATER', () => true)).toEqual(kept);
  expect(secrets.redact('it is canary-0123456789')).toBe('it is [secret LATER]');
});

it('K61 of secrets that several processes keep at once none is lost', async () => {
  const home = folderWith();
  const program = path.join(home, 'keep.mjs');
  const entry = path.resolve('core/trust/index.ts');
  const text = `import { openSecretsFile } from ${JSON.stringify(entry)};\nopenSecretsFile(process.argv[2]).keep(process.argv[3], { value: 'v', for: [] });\n`;
  writeFileSync(path.join(home, 'keep.ts'), text);
  await build({
    entryPoints: [path.join(home, 'keep.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    alias,
  });
  const names = Array.from({ length: 8 }, (_, at) => `NAME_${at}`);
  await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [program, home, name])));
  expect(Object.keys(openSecretsFile(home).all()).sort()).toEqual(names);
});

it('says where the secrets that a text names come from', () => {
  const stored = { get: (name: string) => (name === 'KEPT_KEY' ? [{ value: 'k-123456', for: ['extension:a'] }] : []) };
  const project = { get: (name: string) => (name === 'PROJECT_KEY' ? 'p-123456' : null) };
  const secrets = createSecrets({ ENV_KEY: 'e-123456' }, stored, project);
  secrets.declare(['ENV_KEY', 'KEPT_KEY', 'PROJECT_KEY', 'UNSET_KEY']);
  expect(secrets.sourcesIn('ENV_KEY, KEPT_KEY; PROJECT_KEY UNSET_KEY MY_ENV_KEY')).toEqual([
    'ENV_KEY comes from the environment',
    'KEPT_KEY comes from ~/.pith/secrets.json, where pith setup keeps it',
    "PROJECT_KEY comes from the project's .env",
  ]);
  expect(secrets.sourcesIn('UNSET_KEY')).toEqual([]);
});

it('U-2 keeps entries of secrets.json that it does not understand, whatever else is written', () => {
  const home = folderWith({ '.pith/secrets.json': JSON.stringify({ A: { valu: 'k' }, constructor: [{ value: 'c', for: ['x'] }, 5] }) });
  const secrets = openSecretsFile(home);
  const written = () => JSON.parse(readFileSync(path.join(home, '.pith/secrets.json'), 'utf8')) as unknown;
  expect(secrets.all()).toEqual({ constructor: [{ value: 'c', for: ['x'] }] });
  secrets.keep('B', { value: 'b', for: [] });
  expect(written()).toEqual({ version: 1, A: { valu: 'k' }, B: { value: 'b', for: [] }, constructor: [{ value: 'c', for: ['x'] }, 5] });
  secrets.remove('constructor', ['x']);
  secrets.remove('A', null);
  expect(written()).toEqual({ version: 1, B: { value: 'b', for: [] }, constructor: 5 });
});
