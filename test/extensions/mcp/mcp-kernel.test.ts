import path from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import { testKernel, type TestKernel } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';

const SERVER = path.resolve('test/fixtures/mcp-server.mjs');
const signal = new AbortController().signal;
const local = (...args: string[]) => ({ command: process.execPath, args: [SERVER, ...args] });

let test: TestKernel;
afterEach(() => test.stop());

async function start(servers: object, more: { settings?: object; env?: Record<string, string> } = {}): Promise<void> {
  const settings = { extensions: { mcp: { servers, ...more.settings } } };
  test = await testKernel({ files: { 'pith.yaml': JSON.stringify(settings) }, env: more.env });
}
const call = async (tool: string, input: JsonValue = {}): Promise<ToolResult> =>
  test.kernel.extensions.callTool('mcp', tool, input, { turn: {} as never, idempotencyKey: 'k' }, signal);
const tools = () => test.kernel.extensions.tools('mcp');
const names = async () => (await tools()).map(({ name }) => name);

describe('MCP servers', () => {
  it('offers the tools of a server under its name, with its schemas, effects and approvals', async () => {
    await start({ fix: local() });
    const found = await tools();
    expect(found.find(({ name }) => name === 'fix_echo')).toMatchObject({
      effect: 'read',
      needsApproval: 'never',
      inputSchema: { required: ['text'] },
    });
    expect(found.find(({ name }) => name === 'fix_write')).toMatchObject({ effect: 'write', needsApproval: 'always' });
    // oxlint-disable-next-line no-control-regex
    expect(JSON.stringify(found)).not.toMatch(/\\u001b|\\u0007|Ignore all rules/u);
    expect(await call('fix_echo', { text: 'hello' })).toMatchObject({ ok: true, output: 'hello without key' });
    expect(await call('fix_fail')).toMatchObject({ ok: false, error: { code: 'mcp_error', message: 'it is closed today' } });
    expect(await call('fix_picture')).toMatchObject({ ok: true, output: '[image: image/png, 3 bytes]' });
  }, 30_000);

  it('follows a server whose tools change', async () => {
    await start({ fix: local() });
    expect(await names()).not.toContain('fix_added');
    await call('fix_add');
    await expect.poll(names, { timeout: 10_000 }).toContain('fix_added');
    expect(await call('fix_added')).toMatchObject({ ok: true, output: 'new' });
  }, 30_000);

  it('gives a server the secrets that the settings grant, and no others', async () => {
    await start(
      { fix: { ...local(), env: { FIXTURE_KEY: '${FIXTURE_KEY}' } } },
      { settings: { secrets: ['FIXTURE_KEY'] }, env: { FIXTURE_KEY: 'sk-fixture-1234' } },
    );
    await names();
    expect(await call('fix_echo', { text: 'hello' })).toMatchObject({ output: 'hello with key' });
  }, 30_000);

  it('a server that cannot be started, hangs or floods harms no other, and names that clash are left out', async () => {
    await start({
      gone: { command: path.resolve('no-such-program') },
      bad: { ...local('hostile'), timeout: 1 },
      fix: { ...local(), tools: { allow: ['echo'] } },
    });
    const found = await names();
    expect(found.filter((name) => name.startsWith('fix_'))).toEqual(['fix_echo']);
    expect(found.filter((name) => name === 'bad_a_b')).toHaveLength(1);
    expect(found).not.toContain('bad_huge');
    const [hang, echo] = await Promise.all([call('bad_hang'), call('fix_echo', { text: 'still here' })]);
    expect(hang.ok).toBe(false);
    expect(echo).toMatchObject({ ok: true });
    const long = await call('bad_long');
    expect(long.ok && String(long.output).length).toBeLessThan(101_000);
    expect(await call('bad_flood')).toMatchObject({ ok: false });
    expect(await call('fix_echo', { text: 'and now' })).toMatchObject({ ok: true });
  }, 40_000);

  it('connects again when a server has ended', async () => {
    await start({ fix: local() });
    await names();
    expect(await call('fix_end')).toMatchObject({ ok: false });
    await expect.poll(async () => (await call('fix_echo', { text: 'back' })).ok, { timeout: 15_000 }).toBe(true);
  }, 30_000);

  it('refuses settings that say something else, with their path', async () => {
    await start({ fix: { command: 'x', argz: [] } });
    const status = await test.kernel.extensions.activate('mcp');
    expect(status).toMatchObject({ state: 'failed', code: 'config_invalid', message: expect.stringContaining('argz') });
  });
});
