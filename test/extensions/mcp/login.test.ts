import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandIO, ToolResult } from 'pith';
import type { TestKernel } from 'pith/testing';
import { fakeClock } from 'pith/testing';
import { describe, expect, it, vi } from 'vitest';
import { logIn } from '../../../sandbox/extensions/mcp/log-in.ts';
import { Logins } from '../../../sandbox/extensions/mcp/logins.ts';
import { mcpLoginServer } from '../../fixtures/mcp-login-server.ts';
import { folderWith, kernelOf, serverOf } from '../../places.ts';

const signal = new AbortController().signal;

async function start(servers: object, home: string | null = folderWith()): Promise<TestKernel> {
  return kernelOf({ only: ['mcp'], home, files: { 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }) } });
}
const names = async (test: TestKernel) => (await test.kernel.host.providers.tools.of('mcp')).map(({ name }) => name);
const call = async (test: TestKernel): Promise<ToolResult> =>
  test.kernel.host.providers.tools.call('mcp', 'far_who', {}, { turn: {} as never, idempotencyKey: 'k', signal });

/** Runs the command at a terminal; `browse` is the person, who gets the address that is printed. */
async function run(test: TestKernel, words: string, { browse, interactive = true, stop = signal }: Person = {}): Promise<string> {
  const [command, name] = [words.split(' ').slice(0, 2).join(' '), words.split(' ')[2] ?? 'far'];
  const found = (await test.kernel.host.providers.commands.of('mcp')).find((each) => each.path === command)!;
  const lines: string[] = [];
  const io: Partial<CommandIO> = {
    interactive,
    quiet: false,
    json: () => undefined,
    print(text) {
      lines.push(text);
      const address = /https?:\/\/\S+/u.exec(text)?.[0];
      if (browse && address !== undefined) void browse(address);
    },
  };
  await found.run({ arguments: { name }, options: {} }, io as CommandIO, stop);
  return lines.join('\n');
}
interface Person {
  readonly browse?: (address: string) => Promise<unknown>;
  readonly interactive?: boolean;
  readonly stop?: AbortSignal;
}
const browse = (address: string) => fetch(address);
const reasons = async (test: TestKernel) => (await test.kernel.problems()).map(({ message }) => message).join('\n');

describe('logins to MCP servers', () => {
  it('V6: a server that wants one is said; after it the tools are there, the token stays with its address and is shown nowhere', async () => {
    const server = await mcpLoginServer();
    const home = folderWith();
    const test = await start({ far: { url: server.url } }, home);
    expect(await names(test)).toEqual([]);
    expect(await reasons(test)).toContain('it wants a login (401); run: pith mcp login far');
    expect(await run(test, 'mcp login', { browse })).toContain("Logged in to 'far'");
    await expect.poll(() => names(test)).toEqual(['far_who']);
    expect(await call(test)).toMatchObject({ ok: true, output: 'you are Bearer [secret login far]' });
    const folder = path.join(home, '.pith', 'mcp-logins');
    const [file = ''] = readdirSync(folder);
    expect(statSync(path.join(folder, file)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readFileSync(path.join(folder, file), 'utf8')).toContain([...server.tokens][0]);
    const elsewhere = server.asked.filter(([, at]) => at !== '/mcp').map(([, , authorization]) => authorization);
    expect(new Set(elsewhere)).toEqual(new Set([undefined]));
  });

  it('V6: a token that has ended is renewed once, for all calls; a login that has ended says what to do, and logout forgets it', async () => {
    const server = await mcpLoginServer();
    const home = folderWith();
    const test = await start({ far: { url: server.url } }, home);
    await names(test);
    await run(test, 'mcp login', { browse });
    await expect.poll(() => names(test)).toEqual(['far_who']);
    server.tokens.clear();
    expect((await Promise.all([call(test), call(test), call(test)])).map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(server.counts).toEqual({ registered: 1, renewed: 1 });
    server.tokens.clear();
    server.odd = { ended: true };
    expect(await call(test)).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/login has ended.*run: pith mcp login far/u) },
    });
    server.odd = {};
    await run(test, 'mcp login', { browse });
    expect(server.counts.registered).toBe(2); // the address of return is another
    await expect.poll(async () => (await call(test)).ok).toBe(true);
    expect(await run(test, 'mcp logout')).toContain("The login to 'far' is forgotten");
    expect(readdirSync(path.join(home, '.pith', 'mcp-logins'))).toEqual([]);
    expect(await run(test, 'mcp logout')).toContain("There is no login to 'far'");
  });

  it('V6 T5: a server of another address does not get it, nor one that has a key of its own', async () => {
    const [server, other] = [await mcpLoginServer(), await mcpLoginServer()];
    const home = folderWith();
    const test = await start({ far: { url: server.url } }, home);
    await run(test, 'mcp login', { browse });
    const token = [...server.tokens][0]!;
    const next = await start({ far: { url: other.url }, keyed: { url: server.url, headers: { Authorization: 'Bearer own' } } }, home);
    await names(next);
    expect(other.asked.every(([, , authorization]) => authorization === undefined)).toBe(true);
    expect(server.asked.map(([, , authorization]) => authorization)).toContain('Bearer own');
    expect(JSON.stringify(other.asked)).not.toContain(token);
  });

  it('V6 T5: a file of a login counts for the address in it, however it is named; a damaged one is none', () => {
    const home = folderWith();
    const logins = new Logins({ home });
    const login = { issuer: 'https://a.example', client: { client_id: 'c' }, tokens: { access_token: 'token-a', token_type: 'Bearer' } };
    logins.keep({ url: 'https://a.example/mcp', ...login });
    const folder = path.join(home, '.pith', 'mcp-logins');
    const [ofA = ''] = readdirSync(folder);
    logins.keep({ url: 'https://b.example/mcp', ...login });
    const ofB = readdirSync(folder).find((name) => name !== ofA) ?? '';
    copyFileSync(path.join(folder, ofA), path.join(folder, ofB));
    expect(logins.of('https://b.example/mcp', 'b')).toBeNull();
    expect(logins.of('https://a.example/mcp', 'a')?.token()).toBe('token-a');
    writeFileSync(path.join(folder, ofA), '{');
    expect(logins.of('https://a.example/mcp', 'a')).toBeNull();
  });

  it('V6: without a terminal, without a home, with a server that is none, that starts here or that asks nobody, the cure is said', async () => {
    const server = await mcpLoginServer();
    const test = await start({ far: { url: server.url }, near: { command: process.execPath, args: ['-e', '0'] } });
    await expect(run(test, 'mcp login', { interactive: false })).rejects.toMatchObject({ cure: 'run in a terminal: pith mcp login far' });
    await expect(run(test, 'mcp login fare')).rejects.toMatchObject({ message: expect.stringContaining("did you mean 'far'?") });
    await expect(run(test, 'mcp login near')).rejects.toMatchObject({ message: expect.stringContaining('takes no login') });
    const open = await start({ far: { url: await serverOf((_request, response) => response.writeHead(200).end('<html>')) } });
    await expect(run(open, 'mcp login')).rejects.toMatchObject({
      message: 'the server asks nobody to log in',
      cure: expect.stringContaining('headers'),
    });
    const homeless = await start({ far: { url: server.url } }, null);
    await expect(run(homeless, 'mcp login', { browse })).rejects.toMatchObject({ cure: 'set HOME' });
  });

  it('V6: a token that another process has renewed meanwhile is used, and not renewed again', async () => {
    const home = folderWith();
    const login = { url: 'https://a.example/mcp', issuer: 'https://a.example', client: { client_id: 'c' } };
    const tokens = { token_type: 'Bearer', refresh_token: 'r' };
    new Logins({ home }).keep({ ...login, tokens: { ...tokens, access_token: 'old' } });
    const used = new Logins({ home }).of(login.url, 'a')!;
    expect(used.token()).toBe('old');
    new Logins({ home }).keep({ ...login, tokens: { ...tokens, access_token: 'new' } }); // the other process
    const asked = vi.spyOn(globalThis, 'fetch');
    await used.renew();
    expect(used.token()).toBe('new');
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });

  it('V6: nobody who logs in in time is told what to do', async () => {
    const server = await mcpLoginServer();
    const clock = fakeClock();
    const show = (): void => void clock.advance(300_000);
    const login = logIn({ url: server.url, oauth: {} } as never, { clock, show }, signal);
    await expect(login).rejects.toMatchObject({
      message: 'nobody logged in within 5 minutes',
      cure: expect.stringContaining('run the command again'),
    });
  });

  it.each([
    ['is refused', { refuses: true } as const, String.raw`the login was refused: not today\x1b[2J`],
    ['has no registration', { registers: false } as const, 'Pith cannot be registered as an application there'],
    ['names somebody else as its issuer', { issuer: 'https://evil.example' } as const, 'the server does not say who logs people in'],
  ])('V6: a login that %s keeps nothing, and says why', async (_what, odd, message) => {
    const server = await mcpLoginServer();
    server.odd = odd;
    const home = folderWith();
    const test = await start({ far: { url: server.url } }, home);
    await expect(run(test, 'mcp login', { browse })).rejects.toMatchObject({ message: expect.stringContaining(message) });
    expect(existsSync(path.join(home, '.pith', 'mcp-logins'))).toBe(false);
  });

  it('V6: an application that was registered by hand is used as it is', async () => {
    const server = await mcpLoginServer();
    const test = await start({ far: { url: server.url, oauth: { client_id: 'by-hand', scope: 'read' } } });
    await run(test, 'mcp login', { browse });
    expect(server.counts.registered).toBe(0);
    await expect.poll(() => names(test)).toEqual(['far_who']);
  });

  it('V6: an answer with another state is nobody, and the wait ends with the command', async () => {
    const server = await mcpLoginServer();
    const test = await start({ far: { url: server.url } });
    const stop = new AbortController();
    const forged = async (address: string) => {
      const back = new URL(new URL(address).searchParams.get('redirect_uri')!);
      back.search = '?code=stolen&state=guessed';
      expect((await fetch(back)).status).toBe(404);
      stop.abort(new Error('stopped'));
    };
    await expect(run(test, 'mcp login', { browse: forged, stop: stop.signal })).rejects.toThrow('stopped');
    expect(server.tokens.size).toBe(0);
  });
});
