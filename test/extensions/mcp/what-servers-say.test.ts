import type { Transport } from '@modelcontextprotocol/client';
import type { JsonValue } from 'pith';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { bound } from '../../../sandbox/extensions/mcp/bounded-transport.ts';
import { ToolListCache } from '../../../sandbox/extensions/mcp/tool-list-cache.ts';
import { StderrTail, messagesIn, ServerProcess } from '../../../sandbox/extensions/mcp/server-process.ts';
import { patientRetries, refusal, serverFetch } from '../../../sandbox/extensions/mcp/server-fetch.ts';
import { serverOf } from '../../places.ts';

function stderrOf(printed: string, hide = (text: string) => text): StderrTail {
  const tail = new StderrTail(hide);
  tail.feed(Buffer.from(printed));
  return tail;
}

/** What programs print before they end, and the line that says why. */
const REASONS: readonly (readonly [what: string, printed: string, reason: string | null])[] = [
  ['nothing', '', null],
  ['a line without an end', 'no such option: -x', 'no such option: -x'],
  [
    'an error of Node',
    "node:internal/modules\n  throw err;\n  ^\n\nError: Cannot find module '/x/y.js'\n    at a (b:1:2)\n    at c (d:3:4) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.19.0\n",
    "Error: Cannot find module '/x/y.js'",
  ],
  [
    'an error of Python',
    'Traceback (most recent call last):\n  File "/x.py", line 1, in <module>\n    import nothing\nModuleNotFoundError: No module named \'nothing\'\n',
    "ModuleNotFoundError: No module named 'nothing'",
  ],
  [
    'an error of npm',
    'npm error code E404\nnpm error 404 Not Found - GET https://packages.example/nope - Not found\nnpm error A complete log of this run can be found in: /x/_logs/1.log\n',
    'npm error 404 Not Found - GET https://packages.example/nope - Not found',
  ],
  [
    'V10.15: all that npm says',
    'npm warn deprecated x: not supported\nnpm error code E404\nnpm error 404 Not Found - GET https://packages.example/nope - Not found\nnpm error 404\nnpm error 404 Note that you can also install from a\nnpm error 404 tarball, folder, http url, or git url.\nnpm error A complete log of this run can be found in: /x/_logs/1.log\n',
    'npm error 404 Not Found - GET https://packages.example/nope - Not found',
  ],
  [
    'V10.15: what a program says that npm ran',
    'Error: the key is missing\nnpm error Lifecycle script `start` failed with error:\nnpm error code 1\n',
    'Error: the key is missing',
  ],
  ['usage', 'starting\nUsage: server <folder>\n', 'Usage: server <folder>'],
  ['colours', '\u001b[31mfatal error\u001b[0m\n', 'fatal error'],
  ['Windows ends of lines', 'error: a\r\nbye\r\n', 'error: a'],
  ['only frames', '    at a (b:1:2)\n', '    at a (b:1:2)'],
  ['a key', 'error: token=abcdef123456 refused\n', 'error: token=[hidden] refused'],
];

/** Lines of a server's output, and how many messages are in them. */
const LINES: readonly (readonly [line: string, messages: number])[] = [
  ['{"jsonrpc":"2.0","id":1,"result":{}}', 1],
  ['{"id":1,"result":{}}', 1],
  ['{"id":1,"result":null}', 1],
  ['{"id":1,"error":"no"}', 1],
  ['{"method":"notifications/message"}', 1],
  ['[{"method":"a"},{"id":2,"result":{}}]', 2],
  ['Server listening', 0],
  ['{"level":"info","msg":"ready"}', 0],
  ['Content-Length: 52', 0],
  ['42', 0],
  ['[1,2]', 0],
  ['null', 0],
  [`{"id":1,"error":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 1],
];

const URL_ = new URL('https://example.org/mcp');
const answered = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers });
const NOTHING = /^nothing$/u;
const known = { authorization: 'Bearer x' };

/** Answers to the first message of a connection over HTTP, and why there is none. */
const REFUSALS: readonly (readonly [what: string, answer: Response, sent: Record<string, string>, hasLogin: boolean, why: RegExp])[] = [
  ['200 with JSON', answered(200, { 'content-type': 'application/json' }), {}, false, NOTHING],
  ['202', answered(202), {}, false, NOTHING],
  ['a page', answered(200, { 'content-type': 'text/html; charset=utf-8' }), {}, false, /a page.*correct url/u],
  ['401 without a key', answered(401), {}, false, /wants a login \(401\); run: pith mcp login far/u],
  ['403 without a key', answered(403), {}, false, /wants a login \(403\)/u],
  ['401 with a key', answered(401), known, false, /refuses us \(401\); look at headers/u],
  ['403 with a login', answered(403), known, true, /login does not allow that \(403\); run: pith mcp login far/u],
  ['404', answered(404), {}, false, /nothing at its address \(404\); correct url/u],
  ['404 in a session', answered(404), { 'mcp-session-id': 's' }, false, /does not know this connection any more/u],
  ['405', answered(405), {}, false, /type sse/u],
  ['500', answered(500), {}, false, /answers with status 500/u],
  ['500 to a call', answered(500), { 'mcp-protocol-version': 'v' }, false, NOTHING],
  ['404 to a call without a session', answered(404), { 'mcp-protocol-version': 'v' }, false, NOTHING],
  [
    'a redirect to another place',
    answered(302, { location: 'https://evil.example/' }),
    {},
    false,
    /redirects to https:\/\/evil\.example, which Pith does not follow/u,
  ],
  ['a redirect within its place', answered(307, { location: '/mcp/' }), {}, false, NOTHING],
];

describe('what MCP servers say', () => {
  it.each(REASONS)('V5: %s', (_what, printed, reason) => expect(stderrOf(printed).reason).toBe(reason));

  it('V5 V12: of what comes in pieces and without end only the last lines are held, without secrets', () => {
    const tail = new StderrTail((text) => text.replaceAll('hush', '***'));
    for (let at = 0; at < 2000; at += 1) for (const piece of [`line ${at} hu`, 'sh\n']) tail.feed(Buffer.from(piece));
    expect(tail.lines).toEqual(Array.from({ length: 10 }, (_, at) => `line ${1990 + at} ***`));
    for (let at = 0; at < 100; at += 1) tail.feed(Buffer.from('x'.repeat(10_000)));
    expect(tail.lines.at(-1)).toHaveLength(300);
    expect(stderrOf(`${'\u001b[2J\u202e'}\n`).lines).toEqual([String.raw`\u{202e}`]);
  });

  it.each(LINES)('V5 V6: %s', (line, messages) => expect(messagesIn(line)).toHaveLength(messages));

  it.each(REFUSALS)('V5: HTTP: %s', (_what, answer, headers, hasLogin, why) => {
    const said = refusal(answer, { name: 'far', hasLogin, url: URL_, headers });
    expect(said ?? 'nothing').toMatch(why);
  });

  it.each([
    ['text/event-stream', 200, 200],
    ['text/html', 200, 405],
    ['application/json', 200, 405],
    ['text/plain', 404, 405],
    ['text/event-stream', 400, 405],
  ])('V12: a stream of news that is %s with status %i is asked for again only where it is one', async (type, status, seen) => {
    const url = await serverOf((_request, response) => response.writeHead(status, { 'content-type': type }).end('\n\n'));
    const lost: string[] = [];
    const fetch = serverFetch(url, { name: 'far', hasLogin: false, lost: (why) => void lost.push(why) });
    expect((await fetch(url, { method: 'GET' })).status).toBe(seen); // with 405 the package asks no more
    expect(lost).toEqual([]);
  });

  it('V5: what a server did the last time decides how long it is waited for; another command of its name is another server', async () => {
    const kept = new Map<string, JsonValue>();
    const kv = {
      get: async (key: string) => kept.get(key) ?? null,
      set: async (key: string, value: JsonValue) => void kept.set(key, value),
    };
    const cache = new ToolListCache({ kv, logger: {} } as never);
    const config = { command: 'server', args: [] } as never;
    const tools = [
      {
        name: 'do',
        inputSchema: { type: 'object' as const },
        sent: { schema: { type: 'object', properties: {} }, names: new Map<string, string>(), size: 33 },
      },
    ];
    expect(await cache.of('it', config)).toEqual({ tools: [], startWait: 3000 });
    await cache.keep('it', config, null);
    expect(await cache.of('it', config)).toEqual({ tools: [], startWait: 500 });
    await cache.keep('it', config, tools);
    expect(await cache.of('it', config)).toMatchObject({ tools, startWait: 3000 });
    expect(await cache.of('it', { command: 'server', args: ['--all'] } as never)).toEqual({ tools: [], startWait: 3000 });
  });

  it.each([
    ['a hundred answers that it does not take', () => ({ id: 1, result: {} }), 'sent', 101],
    ['4 MiB of answers that it does not take', () => ({ id: 1, result: { all: 'x'.repeat(1024 * 1024) } }), 'sent', 4],
    ['20,000 messages that nobody asked for', () => ({ method: 'notifications/message' }), 'got', 20_001],
    ['20,000 answers to nothing', () => ({ id: 'none', result: {} }), 'got', 20_001],
  ])('V12: %s end the connection, and no more of them is sent', async (_what, message, way, most) => {
    const reasons: string[] = [];
    const taken: unknown[] = [];
    const transport = {
      send: (given: unknown) => new Promise(() => taken.push(given)),
      close: async () => undefined,
    } as unknown as Transport;
    bound(transport, { now: () => 0 }, (why) => void reasons.push(why));
    const one = (): void =>
      way === 'sent' ? void transport.send(message() as never).catch(() => undefined) : transport.onmessage?.(message() as never);
    for (let at = 1; at < most; at += 1) one();
    expect(reasons).toEqual([]);
    for (let at = 0; at < 20; at += 1) one();
    expect(reasons).toHaveLength(1);
    expect(taken.length).toBeLessThan(most);
    await expect(transport.send(message() as never)).rejects.toThrow('it was stopped');
  });

  it.each([
    ['lines that are no message', "process.stdout.write('y\\n'.repeat(30_000))", 'more than 20000 lines in 10 s to its output'],
    ['empty lines', "process.stdout.write('\\n'.repeat(30_000))", 'more than 20000 lines in 10 s to its output'],
    [
      'answers to nothing',
      `process.stdout.write('{"id":99,"result":{}}\\n'.repeat(30_000))`,
      'more than 20000 lines in 10 s to its output',
    ],
    [
      'an error stream without end',
      "const x = 'x'.repeat(1e6); const write = () => process.stderr.write(x, write); write()",
      'more than 67108864 bytes in 10 s to its error stream',
    ],
  ])('V12: %s end the server', async (_what, program, reason) => {
    const lost: string[] = [];
    const server = new ServerProcess(
      { command: process.execPath, args: ['-e', `setInterval(() => {}, 1000); ${program}`], outer: 0, cwd: '/', env: {} },
      { clock: fakeClock(), stderr: new StderrTail((text) => text), lost: (why) => void lost.push(why) },
    );
    await server.start();
    await expect.poll(() => lost[0], { timeout: 30_000 }).toContain(reason);
    await server.close();
  });

  it('V12: calls of ours that wait for their answers, and messages spread over time, end nothing', () => {
    const reasons: string[] = [];
    let now = 0;
    const transport = { send: () => new Promise(() => undefined), close: async () => undefined } as unknown as Transport;
    bound(transport, { now: () => now }, (why) => void reasons.push(why));
    for (let at = 0; at < 500; at += 1)
      void transport.send({ jsonrpc: '2.0', id: at, method: 'tools/call', params: { all: 'x'.repeat(20_000) } });
    for (let at = 0; at < 30_000; at += 1, now += 1) transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/message' });
    expect(reasons).toEqual([]);
  });

  it('V12: a stream that ends at once is asked for later and later, whatever the server says, and soon again once it has lasted', () => {
    let now = 0;
    const waits: number[] = [];
    const after = (ms: number): (() => void) => (waits.push(ms), () => undefined);
    const retry = patientRetries({ now: () => now, after } as never);
    for (let at = 0; at < 8; at += 1) retry(() => undefined, 0);
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    now = 1_000_000;
    retry(() => undefined, 5000);
    expect(waits.at(-1)).toBe(5000);
  });
});
