import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { allOf, type Folder } from './pith-process.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

const CANARY = 'sk-canary-5150-kept-by-a-person';
const SETTINGS = `# mine
providers:
  # the box in the cellar
  openai:
    api_key_env: OPENAI_API_KEY # as everywhere
models:
  aliases: {}
`;

let folder: Folder;
let server: OwnServer;
beforeEach(async () => {
  server = await ownServer();
  folder = await ownFolder({ 'pith.yaml': SETTINGS });
});

const pith = (argv: readonly string[], input = '', env: Record<string, string> = {}) => pithHere(argv, { cwd: folder.path, input, env });
const here = (argv: readonly string[]) => pithHere(argv, { cwd: folder.path });
const settings = () => readFile(path.join(folder.sandbox, 'pith.yaml'), 'utf8');
const recipient = ({ url }: { readonly url: string }) => `provider:openai ${new URL(url).origin}`;
const setUp = (...values: string[]) => here(['setup', 'openai_compatible', ...values.flatMap((value) => ['--set', value])]);

describe('pith setup', () => {
  it('K62 U34 without a terminal it lists what can be set up, and what one asks', async () => {
    const all = await here(['setup']);
    expect(all.code).toBe(0);
    expect(all.out).toMatch(/^anthropic /mu);
    expect(all.out).toMatch(/^openai_compatible /mu);
    const one = await here(['setup', 'openai_compatible']);
    expect(one.out).toMatch(/base_url \(text\).*\n.*api_key \(secret\)/u);
  });

  it('K62 checks and writes values, keeps comments and order, and the next command uses them', async () => {
    const done = await setUp(`base_url=${server.url}`, 'model=test-model');
    expect(done, done.err).toMatchObject({ code: 0, out: expect.stringContaining('2 models answer: test-model, other-model') });
    const written = await settings();
    for (const line of [
      '# mine',
      '  # the box in the cellar',
      '    api_key_env: OPENAI_API_KEY # as everywhere',
      `    base_url: ${server.url}`,
      '  default: openai/test-model',
    ])
      expect(written.split('\n')).toContain(line);
    server.script({ text: 'here I am' });
    expect(await here(['chat', '-p', 'hello'])).toMatchObject({ code: 0, out: 'here I am\n' });
  });

  it.each([
    [['base_url=not an address'], 'base_url'],
    [['base_url=http://127.0.0.1:1/v1', 'modl=x'], "did you mean 'model'"],
    [['api_key=sk-typed'], 'not taken on the command line'],
    [['base_url=htp:/x'], 'must begin with http:// or https://'], // T28
    [['base_url'], 'write: --set name=value'],
  ])('K62 refuses %j, says why, and writes nothing', async (values, why) => {
    const done = await setUp(...values);
    expect(done.code).not.toBe(0);
    expect(done.err).toContain(why);
    expect(done.err).not.toContain('sk-typed');
    expect(await settings()).toBe(SETTINGS);
  });

  it('K62 anthropic: the same way, with its own words', async () => {
    const done = await here(['setup', 'anthropic', '--set', 'base_url=http://127.0.0.1:9/v1', '--set', 'model=claude-test']);
    expect(await settings()).toMatch(/anthropic:\n\s+base_url: http:\/\/127\.0\.0\.1:9\/v1/u);
    expect(await settings()).toContain('default: anthropic/claude-test');
    expect(done.err).toContain('ANTHROPIC_API_KEY'); // what is missing is told
    expect(done.code).toBe(1);
    const before = await settings();
    const refused = await here(['setup', 'anthropic', '--set', 'base_url=ftp://x']);
    expect(refused.err).toContain('base_url');
    expect(await settings()).toBe(before);
  });
});

describe('pith extensions show', () => {
  it('T17 says what network means', async () => {
    const shown = await here(['extensions', 'show', 'openai_compatible']);
    expect(shown.out).toMatch(/asks for +network \(everything this machine can reach, local services and metadata addresses too\)/u);
  });
});

describe('pith secrets', () => {
  it('K61 keeps a secret for its owner alone, uses it, shows it nowhere, lets the environment win, and takes it out', async () => {
    await setUp(`base_url=${server.url}`, 'model=test-model');
    expect(await pith(['secrets', 'set', 'OPENAI_API_KEY'], `${CANARY}\nnot this\n`)).toMatchObject({
      code: 0,
      out: `Stored OPENAI_API_KEY for ${recipient(server)}\n`,
    });
    const file = path.join(folder.path, '.pith', 'secrets.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      version: 1,
      OPENAI_API_KEY: { value: CANARY, for: [recipient(server)] },
    });
    const listed = await pith(['secrets', 'list', '--json']);
    expect(JSON.parse(listed.out)).toContainEqual({
      name: 'OPENAI_API_KEY',
      extensions: ['embedding', 'openai_compatible'],
      from: 'file',
      for: [recipient(server)],
      none: [],
    });

    server.script({ text: `your key is ${CANARY}` }, { status: 400, error: { message: `bad key ${CANARY}` } }, { text: 'ok' });
    const told = await pith(['chat', '-p', 'say my key', '--json']);
    expect(server.requests.at(-1)!.headers['authorization']).toBe(`Bearer ${CANARY}`);
    const failed = await pith(['chat', '-p', `again with ${CANARY}`]);
    expect(failed.code).not.toBe(0);
    const shown = [listed, told, failed].flatMap(({ out, err }) => [out, err]).join('\n');
    expect(shown).toContain('[secret OPENAI_API_KEY]');
    expect(shown).not.toContain(CANARY);
    for (const { body } of server.requests) expect(JSON.stringify(body ?? null)).not.toContain(CANARY);
    expect(await allOf(folder.sandbox)).not.toContain(CANARY);

    await pith(['chat', '-p', 'hello'], '', { OPENAI_API_KEY: 'sk-from-the-environment' });
    expect(server.requests.at(-1)!.headers['authorization']).toBe('Bearer sk-from-the-environment');
    expect(await pith(['secrets', 'remove', 'OPENAI_API_KEY'])).toMatchObject({ code: 0, out: 'Removed OPENAI_API_KEY\n' });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ version: 1 });
  });

  it('T11 replaces none that is kept without being told to, and takes no master key of another form', async () => {
    const set = (value: string, ...more: string[]) => pith(['secrets', 'set', 'PITH_MASTER_KEY', ...more], `${value}\n`);
    const kept = () => readFile(path.join(folder.path, '.pith', 'secrets.json'), 'utf8').catch(() => '');
    for (const wrong of ['hunter2', 'a'.repeat(63), `${'A'.repeat(42)}!=`])
      expect(await set(wrong)).toMatchObject({
        code: 2,
        err: expect.stringContaining('PITH_MASTER_KEY is 32 bytes, as 64 hex digits or in base64'),
      });
    expect(await kept()).toBe('');
    expect((await set('0a'.repeat(32))).code).toBe(0);
    expect(await set('0b'.repeat(32))).toMatchObject({ code: 2, err: expect.stringContaining('add --yes to replace it') });
    expect(await kept()).toContain('0a0a');
    expect((await set(Buffer.alloc(32, 7).toString('base64'), '--yes')).code).toBe(0);
    expect(await kept()).not.toContain('0a0a');
  });

  it('T5 F2 a server at another address does not get it, says whose it is, and gets it once a person says so', async () => {
    await setUp(`base_url=${server.url}`, 'model=test-model');
    await pith(['secrets', 'set', 'OPENAI_API_KEY'], `${CANARY}\n`);
    const attacker = await ownServer();
    const changed = await setUp(`base_url=${attacker.url}`);
    expect(changed.err).toContain(`was given for ${recipient(server)}`);
    const refused = await pith(['chat', '-p', 'hi']);
    const command = `pith secrets allow OPENAI_API_KEY --for '${recipient(attacker)}'`;
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(command)]);
    expect(attacker.requests).toEqual([]);
    const allowed = await pith(['secrets', 'allow', 'OPENAI_API_KEY', '--for', `provider:openai ${attacker.url}`, '--json']);
    const recipients = [server, attacker].map(recipient);
    expect(JSON.parse(allowed.out)).toEqual({ ok: true, name: 'OPENAI_API_KEY', for: recipients });
    attacker.script({ text: 'thank you' });
    expect(await pith(['chat', '-p', 'hi'])).toMatchObject({ code: 0, out: 'thank you\n' });
    expect(attacker.requests.at(-1)!.headers['authorization']).toBe(`Bearer ${CANARY}`);
    const wrong = await pith(['secrets', 'allow', 'OPENAI_API_KEY', '--for', 'openai']);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('write extension:ID')]);
    // U-2: another value for a third, beside the one of the two, which is neither replaced nor removed unasked
    const third = 'provider:openai http://127.0.0.1:9';
    expect(await pith(['secrets', 'set', 'OPENAI_API_KEY', '--for', third], 'sk-third\n')).toMatchObject({ code: 0 });
    expect(await pith(['secrets', 'set', 'OPENAI_API_KEY', '--for', third], 'sk-other\n')).toMatchObject({ code: 2 });
    const unnamed = await pith(['secrets', 'remove', 'OPENAI_API_KEY']);
    expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining(`is stored for ${recipients.join(', ')}, ${third}`)]);
    expect(await pith(['secrets', 'remove', 'OPENAI_API_KEY', '--for', third])).toMatchObject({
      code: 0,
      out: `Removed OPENAI_API_KEY for ${third}\n`,
    });
    const file = path.join(folder.path, '.pith', 'secrets.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ version: 1, OPENAI_API_KEY: { value: CANARY, for: recipients } });
  });

  it('K61 refuses names that nobody declares, and no value', async () => {
    const unknown = await pith(['secrets', 'set', 'OPENAI_API_KEYS'], 'x\n');
    expect(unknown.err).toContain("did you mean 'OPENAI_API_KEY'");
    const empty = await pith(['secrets', 'set', 'OPENAI_API_KEY'], '\n');
    expect([empty.code, empty.err]).toEqual([2, expect.stringContaining('no value was given')]);
    await expect(stat(path.join(folder.path, '.pith', 'secrets.json'))).rejects.toThrow('ENOENT');
  });
});
