import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { JsonValue } from 'pith';
import type { TestKernel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { projectServers } from '../../../sandbox/extensions/mcp/project-servers.ts';
import { folderWith, kernelOf } from '../../places.ts';

const SERVER = path.resolve('test/fixtures/mcp-server.mjs');
const entry = (more: object = {}) => ({ command: process.execPath, args: [SERVER], ...more });
const text = (servers: object) => JSON.stringify({ mcpServers: servers });

async function projectOf(servers: object, options: Parameters<typeof kernelOf>[0] = {}, settings: object = {}) {
  const project = folderWith({ '.mcp.json': text(servers), 'sandbox/pith.yaml': JSON.stringify({ extensions: { mcp: settings } }) });
  const test = await kernelOf({
    sandbox: path.join(project, 'sandbox'),
    only: ['mcp', 'orchestrator'],
    flags: { data_dir: folderWith() },
    ...options,
  });
  return { project, test };
}
const listed = async (test: TestKernel) => {
  const [rows] = (await test.command('mcp', { json: true })).values;
  return rows as readonly { name: string; state: string; reason: string | null; tools: string[] }[];
};
/** The tools that agents have, once the servers have been looked at again. */
const names = async (test: TestKernel) => {
  await test.command('mcp');
  return known(test);
};
const known = async (test: TestKernel) => (await test.kernel.host.providers.tools.of('mcp')).map(({ name }) => name);
const call = (test: TestKernel, tool: string, input: JsonValue) =>
  test.kernel.host.providers.tools.call('mcp', tool, input, {
    turn: {} as never,
    idempotencyKey: 'k',
    signal: new AbortController().signal,
  });
/** A server whose start leaves a file in its working folder. */
const marking = { command: process.execPath, args: ['-e', "require('fs').writeFileSync('started', process.cwd())"] };

describe('U6 servers of .mcp.json', () => {
  it('U6 are not started before a person agrees, are listed as untrusted, and are said once', async () => {
    const { project, test } = await projectOf({ marking });
    expect(await names(test)).toEqual([]);
    expect(await listed(test)).toEqual([
      {
        name: 'marking',
        state: 'untrusted',
        stderr: [],
        leftOut: [],
        reason: expect.stringContaining('pith mcp trust marking'),
        tools: [],
      },
    ]);
    const said = (await test.kernel.problems()).filter(({ message }) => message.includes('.mcp.json'));
    expect(said).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: '.mcp.json names an MCP server to which you have not agreed: marking',
        cure: 'to look at one and agree, run: pith mcp trust marking',
      }),
    ]);
    expect(existsSync(path.join(project, 'started'))).toBe(false);
  });

  it('U6 are used after a yes to what was shown, in the folder of the project, until that is taken back', async () => {
    const { project, test } = await projectOf({ Fix: entry({ env: { MODE: 'dev' } }), marking });
    await expect(test.command('mcp trust fix')).rejects.toThrow('nobody is there to agree');
    const asked = await test.command('mcp trust fix --yes');
    expect(asked.text).toContain(`runs ${process.execPath} ${SERVER}\n  in ${project}\n  with MODE=dev`);
    await expect.poll(() => names(test)).toContain('fix_echo');
    await test.restart();
    await expect.poll(() => names(test)).toContain('fix_echo');
    await test.command('mcp trust marking --yes');
    await names(test);
    await expect.poll(() => existsSync(path.join(project, 'started'))).toBe(true);
    await test.command('mcp untrust fix');
    await expect.poll(async () => (await names(test)).filter((name) => name.startsWith('fix_'))).toEqual([]);
    expect((await listed(test)).find(({ name }) => name === 'fix')?.state).toBe('untrusted');
  });

  it('U6 an entry that changes is ended and asks again', async () => {
    const { project, test } = await projectOf({ fix: entry() });
    await test.command('mcp trust fix --yes');
    await expect.poll(() => names(test)).toContain('fix_echo');
    for (const changed of [entry({ args: [SERVER, 'hostile'] }), entry({ env: { NODE_OPTIONS: '--require=./x' } }), { ...marking }]) {
      writeFileSync(path.join(project, '.mcp.json'), text({ fix: changed }));
      await expect.poll(() => names(test)).toEqual([]);
      expect(await listed(test)).toMatchObject([{ name: 'fix', state: 'untrusted' }]);
    }
    writeFileSync(path.join(project, '.mcp.json'), text({ fix: entry() }));
    await expect.poll(() => names(test)).toContain('fix_echo');
  });

  it('U6 T5 get declared secrets only, and no variable of the environment', async () => {
    const env = { FIXTURE_KEY: 'sk-fixture-1234', OTHER: 'canary' };
    const servers = {
      fix: entry({ env: { FIXTURE_KEY: '${FIXTURE_KEY}', MODE: '${MODE:-dev}' } }),
      bad: entry({ env: { X: '${OTHER}' } }),
    };
    const { test } = await projectOf(servers, { env }, { secrets: ['FIXTURE_KEY'] });
    for (const name of ['fix', 'bad']) await test.command(`mcp trust ${name} --yes`);
    await expect.poll(() => names(test)).toContain('fix_echo');
    expect(await call(test, 'fix_echo', { text: 'hello' })).toMatchObject({ output: 'hello with key' });
    expect((await listed(test)).find(({ name }) => name === 'bad')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('add OTHER to extensions.mcp.secrets in sandbox/pith.yaml'),
    });
  });

  it('U6 T17 an address is not reached before a person agrees', async () => {
    let reached = 0;
    const http = createServer((_request, response) => {
      reached += 1;
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(http, 'listening');
    onTestFinished(() => void http.close());
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const { test } = await projectOf({ far: { type: 'http', url, headers: { 'X-Team': 'a' } } });
    await names(test);
    expect(reached).toBe(0);
    const asked = await test.command('mcp trust far --yes');
    expect(asked.text).toContain(`reaches ${url}\n  with X-Team: a`);
    await names(test);
    expect(reached).toBeGreaterThan(0);
  });

  it('U6 a server of the settings wins over one of the same name', async () => {
    const { test } = await projectOf({ fix: marking }, {}, { servers: { fix: entry() } });
    await expect.poll(() => names(test)).toContain('fix_echo');
    expect(await listed(test)).toMatchObject([{ name: 'fix', state: 'connected' }]);
    await expect(test.command('mcp trust fix --yes')).rejects.toThrow('does not name a server');
  });

  it('U6 T1 are not even read where nobody trusts the project, or where the person was not shown the file', async () => {
    const { test } = await projectOf({ marking }, { accepts: false, home: folderWith() });
    expect(await listed(test)).toEqual([]);
    const project = folderWith({ '.mcp.json': text({ marking }) });
    expect(projectServers({ project, projectFiles: [] }).servers).toEqual([]);
  });

  it('U-4 doctor and mcp say that a server has ended, and what to run', async () => {
    const { test } = await projectOf({}, {}, { servers: { dead: { command: process.execPath, args: ['-e', 'process.exit(3)'] } } });
    expect(await listed(test)).toMatchObject([{ name: 'dead', state: 'failed' }]);
    const finding = (await test.kernel.doctor()).notes.find(({ code }) => code === 'mcp_not_connected');
    expect(finding).toMatchObject({
      severity: 'warning',
      message: expect.stringMatching(/^the MCP server 'dead' is not connected: it /u),
      cure: 'look at it with: pith mcp',
    });
  });

  it('U-5 a file that came after the project was trusted is not denied: mcp and doctor name it and what to run, beside the first lines of a conversation; it is taken up then', async () => {
    const [home, project] = [folderWith(), folderWith({ 'sandbox/pith.yaml': '', '.mcp.json': text({ marking }) })];
    const sandbox = path.join(project, 'sandbox');
    trustSandbox(openTrustFile(home), sandbox); // and was shown no file
    const test = await kernelOf({ sandbox, home, accepts: false, only: ['mcp', 'orchestrator'], flags: { data_dir: folderWith() } });
    const why = 'you were not shown it when you trusted the project; run: pith trust';
    expect((await test.command('mcp')).text).toBe(`.mcp.json: not used (${why})`);
    expect((await test.kernel.doctor()).notes).toContainEqual(
      expect.objectContaining({ severity: 'info', message: `.mcp.json is not used: ${why}` }),
    );
    expect(JSON.stringify(await test.kernel.problems())).not.toContain(why);
    trustSandbox(openTrustFile(home), sandbox, { grants: {}, files: ['.mcp.json'] }); // as another terminal does
    expect(await listed(test)).toMatchObject([{ name: 'marking', state: 'untrusted' }]);
  });

  it('U-5 /trust shows such a file and asks; it is used from then on', async () => {
    const [home, project] = [folderWith(), folderWith({ 'sandbox/pith.yaml': '', '.mcp.json': text({ marking }) })];
    const sandbox = path.join(project, 'sandbox');
    trustSandbox(openTrustFile(home), sandbox);
    const test = await kernelOf({ sandbox, home, accepts: false, only: ['mcp', 'orchestrator'], flags: { data_dir: folderWith() } });
    const said: string[] = [];
    const io = {
      print: (line: string) => said.push(line),
      json: () => 0,
      interactive: true,
      ask: async (question: string) => (said.push(question), 'yes'),
    };
    const command = kernelCommands(test.kernel).find(({ path: name }) => name === 'trust');
    await command?.run({ arguments: {}, options: {} }, io as never, new AbortController().signal);
    expect(said.join('\n')).toMatch(/\.mcp\.json[^]*Trust it\?\nTrusted: /u);
    expect(await listed(test)).toMatchObject([{ name: 'marking', state: 'untrusted' }]);
  });

  it('defect 18: a server of the settings works in the folder of the project', async () => {
    const { project, test } = await projectOf({}, {}, { servers: { marking } });
    await names(test);
    expect(existsSync(path.join(project, 'started'))).toBe(true);
  });
});

describe('U6 attacks on .mcp.json', () => {
  const readIn = (make: (file: string) => void) => {
    const project = folderWith();
    const file = path.join(project, '.mcp.json');
    make(file);
    return projectServers({ project, projectFiles: [file] });
  };
  const read = (servers: unknown) => readIn((file) => writeFileSync(file, JSON.stringify({ mcpServers: servers })));

  it.each([
    ['a link', (file: string) => symlinkSync('/etc/passwd', file)],
    ['a fifo', (file: string) => execFileSync('mkfifo', [file])],
    ['10 MB', (file: string) => writeFileSync(file, `{"mcpServers":{"a":{"command":"${'x'.repeat(10_000_000)}"}}}`)],
    ['binary', (file: string) => writeFileSync(file, Buffer.from([0xff, 0xfe, 0, 1]))],
    ['no JSON', (file: string) => writeFileSync(file, '{"mcpServers": {')],
    ['no map', (file: string) => writeFileSync(file, '{"mcpServers": []}')],
  ])('U6 one that is %s names no server, and that is said', (_, make) => {
    const { servers, unusable } = readIn(make);
    expect(servers).toEqual([]);
    expect([...unusable.keys()]).toEqual(['.mcp.json']);
  });

  it('U6 an entry that is wrong costs itself only', () => {
    const { servers, unusable } = read({
      good: { command: 'x' },
      number: 1,
      none: {},
      old: { type: 'sse', url: 'http://127.0.0.1/sse' },
      file: { url: 'file:///etc/passwd' },
      args: { command: 'x', args: [1] },
      '!!!': { command: 'x' },
      GOOD: { command: 'y' },
      long: { command: 'x', args: ['y'.repeat(9000)] },
    });
    expect(servers.map(({ name }) => name)).toEqual(['good']);
    expect([...unusable.keys()]).toEqual(['number', 'none', 'old', 'file', 'args', '!!!', 'GOOD', 'long']);
  });

  it.each([
    ['{"mcpServers": {\n "a": {"command": "x"},\n}}', 'line 3 is not JSON'],
    ['{"mcpServers": {\n "a": {"command": x}}}', 'line 2 is not JSON'],
    ['{"mcpServers":\n {"a": {}', 'line 2 is not JSON'],
  ])('V10.7: broken JSON is said with its line: %s', (given, why) =>
    expect(readIn((file) => writeFileSync(file, given)).unusable.get('.mcp.json')).toBe(why),
  );

  it('V10.7: a wrong entry is said in plain words; so is a file that came after the trust', () => {
    const { unusable } = read({
      slip: { comand: 'x' },
      both: { command: 'x', url: 'https://a.example' },
      near: { url: 'localhost:3000' },
      list: { command: 'x', args: 'y' },
    });
    expect([...unusable.values()]).toEqual([
      "unknown key 'comand' (did you mean 'command'?)",
      'has both command and url: keep one',
      "'url' must be an address such as https://example.com/mcp or http://localhost:3000/mcp",
      "'args' must be a list, not a string",
    ]);
    const project = folderWith({ '.mcp.json': text({ marking }) });
    expect([...projectServers({ project, projectFiles: [] }).unusable.values()].join()).toContain('pith trust');
  });

  it('U6 T19 names and words that would be unseen are shown', async () => {
    const { servers, unusable } = read({ 'a\u001b[2J': { command: 'x\u001b[2J', args: ['a b', '\u202e'] }, '\u001b': 1 });
    expect(JSON.stringify([...unusable])).not.toContain('\\u001b[');
    expect(servers[0]?.name).toBe('a_2j');
    const { test } = await projectOf({ a: { command: 'x\u001b[2J', args: ['a b', '\u202e'], env: { 'A\nB': 'c\r\nd' } } });
    const { text: shown } = await test.command('mcp trust a --yes');
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/[\u001b\u202e\r]/u);
    expect(shown).toContain('with A\\nB=c\\r\\nd');
  });

  it('U6 names of what every object has are names like others', () => {
    expect(read(JSON.parse('{"constructor":{"command":"x"},"__proto__":{"command":"y"}}')).servers.map(({ name }) => name)).toEqual([
      'constructor',
    ]);
  });
});
