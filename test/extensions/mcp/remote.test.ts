import type { JsonValue, ToolResult } from 'pith';
import { captureCommand } from '@pith/command-line';
import { type FakeClock, fakeClock, type TestKernel } from 'pith/testing';
import { underTraceparent } from '@pith/genai-spans';
import { afterEach, describe, expect, it } from 'vitest';
import { mcpHttpServer, type McpHttpServer } from '../../fixtures/mcp-http-server.ts';
import { kernelOf } from '../../places.ts';
import { collectSpans } from '../../span-collector.ts';

const KEY = 'sk-http-fixture-8842';
const signal = new AbortController().signal;

let test: TestKernel;
let servers: McpHttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

async function serve(port?: number): Promise<McpHttpServer> {
  const server = await mcpHttpServer(port);
  servers.push(server);
  return server;
}
async function start(remote: object, clock?: FakeClock): Promise<void> {
  const settings = { extensions: { mcp: { secrets: ['HTTP_KEY'], servers: { far: remote } } } };
  test = await kernelOf({
    only: ['mcp'],
    files: { 'pith.yaml': JSON.stringify(settings) },
    env: { HTTP_KEY: KEY },
    ...(clock && { clock }),
  });
}
const call = async (tool: string, input: JsonValue = {}, cancel = signal): Promise<ToolResult> =>
  test.kernel.host.providers.tools.call('mcp', tool, input, { turn: {} as never, idempotencyKey: 'k', signal: cancel });
const names = async () => (await test.kernel.host.providers.tools.of('mcp')).map(({ name }) => name);
async function state(): Promise<{ readonly state: string; readonly reason: string | null }> {
  const commands = await test.kernel.host.providers.commands.of('mcp');
  const { values } = await captureCommand({ getCommands: () => commands }, 'mcp', {}, signal);
  return (values[0] as never)[0];
}

describe('MCP servers over HTTP', () => {
  it('K95: offers the tools, follows their changes, and every request carries the headers with the secret, which nothing shows', async () => {
    const server = await serve();
    await start({ url: server.url, headers: { Authorization: 'Bearer ${HTTP_KEY}', 'X-Team': 'blue' } });
    expect(await names()).toEqual(expect.arrayContaining(['far_echo', 'far_hang']));
    const echoed = await call('far_echo', { text: `hello ${KEY}` });
    expect(echoed).toMatchObject({ ok: true, output: 'hello [secret HTTP_KEY]' });
    expect(server.headers.length).toBeGreaterThan(2);
    for (const headers of server.headers) expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-team': 'blue' });
    await call('far_add');
    await expect.poll(names).toContain('far_added');
  });

  it('U51 a call carries the traceparent', async () => {
    const server = await serve();
    await start({ url: server.url });
    await names();
    await call('far_echo', { text: 'without' });
    collectSpans();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await underTraceparent(traceparent, () => call('far_echo', { text: 'with' }));
    expect(server.traces).toEqual([undefined, traceparent]);
  });

  it('K95: a server that is down at first is there when it comes, and again when it was away', async () => {
    const { port, url, close } = await serve();
    await close();
    servers = [];
    await start({ url });
    expect(await names()).toEqual([]);
    expect(await state()).toMatchObject({ state: 'failed', reason: expect.stringContaining('nothing answers there; check the address') });
    const first = await serve(port);
    await expect.poll(names).toContain('far_echo');
    first.forget();
    expect(await call('far_echo', { text: 'who' })).toMatchObject({ ok: false });
    await expect.poll(async () => (await call('far_echo', { text: 'known again' })).ok).toBe(true);
    await first.close();
    servers = [];
    expect((await call('far_echo', { text: 'gone' })).ok).toBe(false);
    await serve(port);
    await expect.poll(async () => (await call('far_echo', { text: 'back' })).ok).toBe(true);
  });

  it('K95: a server that refuses the headers is tried again, and the list says what to look at', async () => {
    const server = await serve();
    server.answerWith({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    await start({ url: server.url, headers: { Authorization: 'Bearer ${HTTP_KEY}' } });
    expect(await names()).toEqual([]);
    expect(await state()).toMatchObject({ state: 'failed', reason: expect.stringMatching(/401.*headers/u) });
    server.answerWith(null);
    await expect.poll(names).toContain('far_echo');
  });

  it('K95: headers never go to another place that the server names', async () => {
    const [server, other] = [await serve(), await serve()];
    server.answerWith({ status: 307, headers: { location: other.url } });
    await start({ url: server.url, headers: { 'X-Api-Key': '${HTTP_KEY}' } });
    expect(await names()).toEqual([]);
    expect(await state()).toMatchObject({ state: 'failed', reason: expect.stringContaining(new URL(other.url).origin) });
    expect(other.headers).toEqual([]);
  });

  it('K95: an aborted call is cancelled at the server; one that floods ends, and the next call is answered', async () => {
    const server = await serve();
    await start({ url: server.url });
    await names();
    const stop = new AbortController();
    const hanging = call('far_hang', {}, stop.signal);
    hanging.catch(() => undefined);
    await expect.poll(() => server.headers.length).toBeGreaterThan(4);
    stop.abort();
    await expect.poll(server.cancelled).toBe(1);
    await hanging.catch(() => undefined);
    expect((await call('far_flood')).ok).toBe(false);
    await expect.poll(async () => (await call('far_echo', { text: 'still here' })).ok).toBe(true);
  });

  it('V12: a stream of news that ends at once is asked for again after a pause, whatever the server says', async () => {
    const [server, clock] = [await serve(), fakeClock()];
    server.endNews();
    await start({ url: server.url }, clock);
    await names();
    await expect.poll(server.news).toBe(1);
    for (const text of ['a', 'b', 'c']) expect(await call('far_echo', { text })).toMatchObject({ ok: true });
    expect(server.news()).toBe(1);
    await clock.advance(1000);
    await expect.poll(server.news).toBe(2);
  });

  it('K95: a secret that is not set is named with the cure', async () => {
    const server = await serve();
    await start({ url: server.url, headers: { Authorization: 'Bearer ${OTHER_KEY}' } });
    expect(await names()).toEqual([]);
    expect((await state()).reason).toContain('OTHER_KEY');
    expect(server.headers).toEqual([]);
  });
});
