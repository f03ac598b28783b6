import path from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import { fakeClock, scriptedModel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { answered } from '../../answers.ts';
import { kernelOf } from '../../places.ts';
import { settled } from './settled.ts';

const SERVER = path.resolve('test/fixtures/mcp-server.mjs');
const signal = new AbortController().signal;
const local = (...args: string[]) => ({ command: process.execPath, args: [SERVER, ...args] });

const step = (name: string) => ({ calls: [{ name, input: {} }] });

let test: TestKernel;
let clock: ReturnType<typeof fakeClock>;

async function start(servers: object, more: TestKernelOptions = {}, settings: object = {}): Promise<void> {
  const written = JSON.stringify({ extensions: { mcp: { servers, ...settings } } });
  clock = fakeClock();
  test = await kernelOf({ clock, only: ['mcp', 'orchestrator'], ...more, files: { 'pith.yaml': written, ...more.files } });
  await settled(test);
}
const call = async (tool: string, input: JsonValue = {}): Promise<ToolResult> =>
  test.kernel.host.providers.tools.call('mcp', tool, input, { turn: {} as never, idempotencyKey: 'k', signal: signal });
const asks = (tool: string) => test.kernel.host.providers.tools.needsApproval('mcp', tool, {}, {} as never);
const tools = () => test.kernel.host.providers.tools.of('mcp');
/** Once a second has passed: so long it takes until a changed list is asked for, or a lost server connected again. */
const later = <Value>(look: () => Promise<Value>) => clock.advance(1000).then(look);
const names = async () => (await tools()).map(({ name }) => name);

describe('MCP servers', () => {
  it('offers the tools of a server under its name, with its schemas, effects and approvals', async () => {
    await start({ fix: local() });
    const found = await tools();
    expect(found.find(({ name }) => name === 'fix_echo')).toMatchObject({
      effect: 'read',
      needsApproval: 'maybe',
      inputSchema: { required: ['text'] },
    });
    expect(found.find(({ name }) => name === 'fix_write')).toMatchObject({ effect: 'write', needsApproval: 'maybe' });
    expect(await asks('fix_echo')).toBe(false);
    expect(await asks('fix_write')).toMatchObject({
      summary: "use 'write' of the MCP server 'fix'", // U11
      text: expect.stringMatching(/^without arguments\n.*server 'fix' says of it:\nWrites\./u),
      always: { covers: "every call of 'write' of the MCP server 'fix'" },
    });
    // oxlint-disable-next-line no-control-regex
    expect(JSON.stringify(found)).not.toMatch(/\\u001b|\\u0007|Ignore all rules/u);
    expect(await call('fix_echo', { text: 'hello' })).toMatchObject({ ok: true, output: 'hello without key' });
    expect(await call('fix_fail')).toMatchObject({ ok: false, error: { code: 'mcp_error', message: 'it is closed today' } });
    expect(await call('fix_picture')).toMatchObject({ ok: true, output: expect.stringContaining('models take PNG') });
  });

  it('leaves out a server that cannot be read, and says which and why; the others work', async () => {
    await start({ fix: local(), bad: { comand: 'x' }, slow: { ...local(), timout: 3 } });
    expect(await names()).toContain('fix_echo');
    expect((await names()).filter((name) => !name.startsWith('fix_'))).toEqual([]);
    const { extensions } = await test.kernel.doctor();
    const said = extensions.find(({ id }) => id === 'mcp')!.notes.map(({ message }) => message);
    const unknown = (key: string, meant: string) => `unknown key '${key}' (did you mean '${meant}'?)`;
    for (const text of [unknown('comand', 'command'), unknown('timout', 'timeout')])
      expect(said).toContainEqual(expect.stringContaining(text));
  });

  it('V10.6: entries of the settings that are wrong are listed with the reason, once', async () => {
    const servers = {
      bad: { comand: 'npx' },
      both: { command: 'x', url: 'https://a.example' },
      far: { url: 'localhost:3000' },
      'Git Hub': local(),
    };
    test = await kernelOf({ only: ['mcp'], files: { 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }) } });
    expect((await test.command('mcp')).text.trim().split('\n')).toEqual([
      "bad: not used (unknown key 'comand' (did you mean 'command'?))",
      'both: not used (has both command and url: keep one)',
      "far: not used ('url' must be an address such as https://example.com/mcp or http://localhost:3000/mcp)",
      'Git Hub: not used (must have a short name of small letters, digits, _ and -)',
    ]);
  });

  it('V12 a tool that a call brings is offered with the next step of the same turn', async () => {
    const agent = 'id: user\nagent: { uses_tools: [mcp] }\n';
    const model = scriptedModel([step('fix_add'), { text: 'So.' }]);
    const files = { 'agents/user/manifest.yaml': agent };
    await start({ fix: { ...local(), approvals: 'never-for-read-only' } }, { model, files });
    expect((await test.run('go', { agent: 'user' })).reason).toBe('awaiting_approval');
    expect((await answered(test, 'once')).reason).toBe('done');
    expect(model.requests.map(({ tools }) => tools.some(({ name }) => name === 'fix_added'))).toEqual([false, true]);
  });

  it('gives a server the secrets that the settings grant, and no others; follows one whose tools change, and connects again to one that has ended', async () => {
    const fix = { ...local(), env: { FIXTURE_KEY: '${FIXTURE_KEY}' } };
    await start({ fix }, { env: { FIXTURE_KEY: 'sk-fixture-1234' } }, { secrets: ['FIXTURE_KEY'] });
    expect(await names()).not.toContain('fix_added');
    expect(await call('fix_echo', { text: 'hello' })).toMatchObject({ output: 'hello with key' });
    await call('fix_add');
    await expect.poll(() => later(names)).toContain('fix_added');
    expect(await call('fix_added')).toMatchObject({ ok: true, output: 'new' });
    expect(await call('fix_end')).toMatchObject({ ok: false });
    await expect.poll(() => later(async () => (await call('fix_echo', { text: 'back' })).ok)).toBe(true);
  });

  it('V4: a server that cannot be started, hangs or floods harms no other; names that are alike are told apart, and what is left out is said', async () => {
    await start({
      gone: { command: path.resolve('no-such-program') },
      bad: { ...local('hostile'), timeout: 1 },
      fix: { ...local(), tools: { allow: ['echo'] } },
    });
    const found = await names();
    expect(found.filter((name) => name.startsWith('fix_'))).toEqual(['fix_echo']);
    const [plain, hashed] = found.filter((name) => name.startsWith('bad_a_b')).sort();
    expect([plain, hashed]).toEqual(['bad_a_b', expect.stringMatching(/^bad_a_b_[0-9a-f]{8}$/u)]);
    expect(await call('bad_a_b')).toMatchObject({ output: 'a_b' });
    expect(await call(String(hashed))).toMatchObject({ output: 'a b' });
    expect(found).not.toContain('bad_huge');
    const said = (await test.kernel.doctor()).notes.map(({ message }) => message);
    expect(said).toContain("the tool 'huge' of the MCP server 'bad' is left out: its input schema is larger than 32768 characters");
    const [hang, echo] = await Promise.all([call('bad_hang'), call('fix_echo', { text: 'still here' })]);
    expect(hang.ok).toBe(false);
    expect(echo).toMatchObject({ ok: true });
    const long = await call('bad_long');
    expect(long.ok && String(long.output).length).toBeLessThan(101_000);
    expect(await call('bad_flood')).toMatchObject({ ok: false });
    expect(await call('fix_echo', { text: 'and now' })).toMatchObject({ ok: true });
  });

  it('T20 F23: a tool with a broken schema costs itself only, and doctor names it', async () => {
    await start({ fix: local('broken') });
    expect(await names()).toEqual(['fix_echo', 'fix_write', 'fix_fail', 'fix_picture', 'fix_add', 'fix_end']);
    expect(await call('fix_echo', { text: 'still' })).toMatchObject({ ok: true });
    const { notes } = await test.kernel.doctor();
    const said = notes.map(({ message }) => message).filter((message) => message.includes("MCP server 'fix'"));
    expect(said).toHaveLength(4);
    expect(said.join('\n')).toMatch(/tool 'worse' .* is left out: its input schema is a list, not a map/u);
    // oxlint-disable-next-line no-control-regex
    expect(said.join('\n')).not.toMatch(/\u001b/u);
  });

  it('T20 F23: a tool that changes is asked about again, is read-only no more, and is free again once a person agreed', async () => {
    await start({ fix: local('rug') });
    const safe = async () => (await tools()).find(({ name }) => name === 'fix_safe')?.description;
    const before = await safe();
    expect(await asks('fix_safe')).toBe(false);
    await call('fix_pull');
    await expect.poll(() => later(safe)).not.toBe(before);
    const question = await asks('fix_safe');
    expect(question).toMatchObject({
      text: expect.stringMatching(/changed the description of this tool.*\nReads, and sends what it read away/u),
    });
    const { subject } = question as { readonly subject: string };
    const agreed = { turn: {} as never, idempotencyKey: 'k', approved: subject };
    expect(await test.kernel.host.providers.tools.call('mcp', 'fix_safe', {}, { ...agreed, signal })).toMatchObject({ ok: true });
    expect(await asks('fix_safe')).toBe(false);
    await test.restart(); // the server says the first again, which is another than what was agreed to last
    expect(await asks('fix_safe')).toMatchObject({ text: expect.stringContaining('\nReads.') });
  });

  it('T20 F23: an earlier always ends with a changed schema; a tool that came later is not believed to only read', async () => {
    const write = step('fix_write');
    const model = scriptedModel([write, { text: 'one' }, write, { text: 'two' }, step('fix_pull_write'), { text: 'x' }]);
    await start({ fix: local('rug') }, { model });
    await test.run('go');
    await answered(test, 'always');
    expect((await test.run('again')).reason).toBe('done');
    const schema = async () => JSON.stringify((await tools()).find(({ name }) => name === 'fix_write')?.inputSchema);
    await test.run('pull');
    await expect.poll(() => later(schema)).toContain('where');
    model.add(write);
    expect((await test.run('once more')).reason).toBe('awaiting_approval');
    expect((await test.kernel.approvals.list())[0]).toMatchObject({
      details: expect.stringContaining('has changed the schema of this tool since you agreed to it'),
      always: null, // after a yes it is not changed any more, and the next question reads otherwise
    });
    await call('fix_add');
    await expect.poll(() => later(names)).toContain('fix_added');
    expect(await asks('fix_added')).toMatchObject({ text: expect.stringContaining('added this tool since it was first connected') });
  });

  it('T15 F18: a tool of a server takes no name of a shipped one', async () => {
    const files = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [delegation, mcp] }\n' };
    await start({ create: local('names') }, { only: ['delegation', 'mcp'], files });
    const found = (await test.kernel.agents.toolsOf('asker')).filter(({ descriptor }) => descriptor.name === 'create_agent');
    expect(found.map(({ modelName, extensionId }) => [extensionId, modelName])).toEqual([
      ['delegation', 'create_agent'],
      ['mcp', 'mcp__create_agent'],
    ]);
  });

  it('use.md 3: leaves out a server whose settings say something else, as a whole, and says so', async () => {
    await start({ fix: { command: 'x', argz: [] }, strict: { command: 'x', approvals: 'alwys' } });
    const { state, notes } = await test.kernel.host.extensions.activate('mcp');
    expect(state).toBe('active');
    for (const slip of ['argz', 'approvals'])
      expect(notes).toContainEqual({ code: 'config_invalid', message: expect.stringContaining(slip), cure: 'correct the setting' });
  });
});
