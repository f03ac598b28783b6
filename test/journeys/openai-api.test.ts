import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OpenAI } from 'openai';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { agentFile, bare } from './sandbox-files.ts';
import { pithHere } from './pith-here.ts';
import { projectFolder, startPith, type Folder } from './pith-process.ts';

let server: OpenAiServer;
let folder: Folder;

beforeEach(async () => {
  server = await startOpenAiServer();
  const only = ['cli_channel', 'openai_compatible', 'http', 'program_turns', 'openai_api', 'mcp_server'];
  folder = await projectFolder({
    ...bare(only, { default_agent: 'keeper', approvals: { tools: ['kv/kv_set'] }, extensions: { kv: {} } }),
    'agents/keeper/manifest.yaml': agentFile('keeper', { uses_tools: ['kv'] }),
  });
});
afterEach(async () => {
  await server.close();
  await folder.remove();
});

const options = () => ({ cwd: folder.path, env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test', PITH_MODEL: 'openai/test' } });
const bodies = () => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);

/** `pith serve` on a free port, and how to kill it. */
async function serve() {
  const serving = startPith(['serve', '--port', '0'], { ...options(), input: null });
  const kill = async () => {
    serving.child.kill('SIGKILL');
    await serving.ended;
  };
  onTestFinished(kill);
  await expect.poll(() => serving.out(), { timeout: 60_000 }).toMatch(/127\.0\.0\.1:\d+/u);
  return { base: `http://127.0.0.1:${/127\.0\.0\.1:(\d+)/u.exec(serving.out())![1]}/v1`, kill };
}

describe('the OpenAI-compatible interface of pith serve', () => {
  it('W6 W20 kill -9 while a turn waits, and again while it goes on: the next request goes on, and nothing is called twice', async () => {
    const { token } = JSON.parse((await pithHere(['tokens', 'new', '--user', 'ada', '--json'], options())).out) as { token: string };
    const client = (baseURL: string) => new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'make it green' }];
    const set = { name: 'kv_set', input: { key: 'colour', value: 'green' } };
    server.script({ calls: [{ name: 'kv_list', input: {} }, set] }, { text: 'never heard', stallAfter: 1 });

    const first = await serve();
    const { data, response } = await client(first.base).chat.completions.create({ model: 'keeper', messages }).withResponse();
    const approval = response.headers.get('x-pith-approval')!;
    expect(data.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: expect.stringContaining(`pith approvals approve ${approval}`) },
    });
    await first.kill();

    const approving = startPith(['approvals', 'approve', approval], options());
    await expect.poll(() => bodies().length, { timeout: 60_000 }).toBe(2);
    approving.child.kill('SIGKILL'); // in the middle of going on: the tool has run
    await approving.ended;

    server.script({ text: 'It is green.' });
    const second = await serve();
    const headers = { 'x-pith-thread': response.headers.get('x-pith-thread')! };
    const next = await client(second.base).chat.completions.create({ model: 'keeper', messages }, { headers });
    expect(next.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is green.' } });
    const sent = JSON.stringify(bodies().at(-1)!.messages);
    expect(sent.split('make it green')).toHaveLength(2);
    expect(
      bodies()
        .at(-1)!
        .messages.filter(({ role }) => role === 'tool'),
    ).toHaveLength(2);
  });

  it('W20 W22 W30 the programs of the page run as they stand there: curl, the package openai, an MCP client', async () => {
    const page = readFileSync('docs/programs.md', 'utf8');
    const blocks = (language: string) =>
      [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gmu'))].map(([, text]) =>
        text!.replaceAll('orchestrator', 'keeper'),
      );
    const { token } = JSON.parse((await pithHere(['tokens', 'new', '--user', 'ada', '--json'], options())).out) as { token: string };
    server.script({ text: 'Two.' }, { text: 'Two.' }, { text: 'It is the first.' }, { text: 'Two, by MCP.' });
    const { base } = await serve();
    const env = { ...process.env, PITH_TOKEN: token };
    const here = (text: string) => text.replaceAll('http://127.0.0.1:7484', new URL(base).origin);
    const run = promisify(execFile);
    const [curl, ...otherScripts] = blocks('bash');
    const { stdout } = await run('bash', ['-c', here(curl!)], { env });
    expect(JSON.parse(stdout)).toMatchObject({ choices: [{ message: { content: 'Two.' } }] });
    const [openai, mcp, ...otherPrograms] = blocks('js');
    const program = async (text: string): Promise<string> => {
      const file = path.resolve(`node_modules/.programs-${process.pid}.mjs`); // where it finds the clients
      onTestFinished(() => rm(file, { force: true }));
      await writeFile(file, here(text));
      return (await run(process.execPath, [file], { env })).stdout;
    };
    expect(await program(openai!)).toBe('Two.\nIt is the first.\n');
    expect(
      bodies()
        .at(-1)!
        .messages.filter(({ role }) => role === 'user'),
    ).toHaveLength(2);
    expect(await program(mcp!)).toBe('Two, by MCP.\n');
    expect([...otherScripts, ...otherPrograms]).toEqual([]);
  });
});
