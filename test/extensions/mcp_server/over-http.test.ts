import { writeFile } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { servedKernel, type ServedKernel } from '../http/served-kernel.ts';
import { agentFile } from '../../journeys/sandbox-files.ts';
import { FILES, ONLY } from './connected.ts';

const PRESENT: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } };

/** A listening kernel. */
const served = (model = scriptedModel()) => servedKernel({ model, only: [...ONLY, 'http'], commands: kernelCommands, files: FILES });

async function clientOf(served: ServedKernel, token: string, options: ClientOptions = {}) {
  const client = new Client({ name: 'test', version: '1' }, options);
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${await served.port()}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}
const textOf = ({ content }: Awaited<ReturnType<Client['callTool']>>) => (content as readonly { readonly text: string }[])[0]?.text ?? '';

describe('the MCP server over HTTP', () => {
  it.each([
    ['2025-11-25', {}],
    ['2026-07-28', PRESENT],
  ] as const)('W22 W24 serves a client of %s: tools, resources, prompts and skills', async (version, options) => {
    const here = await served();
    const { client } = await clientOf(here, await here.token({ userId: 'ada' }), options);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('read_skill');
    expect(textOf(await client.callTool({ name: 'read_skill', arguments: { skill_id: 'tea' } }))).toContain('Boil water first.');
    expect((await client.readResource({ uri: 'skill://tea/references/pots.md' })).contents).toMatchObject([{ text: 'Use a warm pot.\n' }]);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('brew');
    const skills = new SkillsClient(client);
    const { skill } = await skills.get('skill://tea/SKILL.md');
    expect(await skills.read(skill)).toMatchObject({ verified: true, body: expect.stringContaining('Boil water first.') });
  });

  it.each([
    ['2025-11-25', {}],
    ['2026-07-28', PRESENT],
  ] as const)('W22 a long call of a client of %s reports how far it is, and ends when it is cancelled', async (_version, options) => {
    const model = scriptedModel([{ calls: [{ name: 'list_skills', input: {} }] }, { text: 'done' }, { text: 'begun', hang: true }]);
    const here = await served(model);
    const ends: string[] = [];
    here.pith.kernel.events.handle('turn.ended', ({ reason }) => void ends.push(reason));
    const { client } = await clientOf(here, await here.token(), options);
    const said: string[] = [];
    const onprogress = ({ message = '' }) => void said.push(message);
    const call = { name: 'delegate_task', arguments: { task: 'look' } };
    expect(textOf(await client.callTool(call, { onprogress }))).toBe('done');
    expect(said).toEqual(['main calls list_skills', 'main: step 1', 'main: step 2']);
    const cancel = new AbortController();
    const running = client.callTool(call, { signal: cancel.signal });
    await expect.poll(() => model.requests.length).toBe(3);
    cancel.abort('enough');
    await expect(running).rejects.toThrow(/enough/u);
    await expect.poll(() => ends).toEqual(['done', 'aborted']);
  });

  it.each([
    ['2025-11-25', {}],
    ['2026-07-28', PRESENT],
  ] as const)(
    'W5 W22 a connection of a client of %s offers and reads what its agent may now, not what it once might',
    async (_version, options) => {
      const here = await served();
      const { client } = await clientOf(here, await here.token({ userId: 'ada' }), options);
      const read = async () => textOf(await client.callTool({ name: 'read_skill', arguments: { skill_id: 'tea' } }));
      const listed = async () => (await client.listResources()).resources.map(({ name }) => name);
      expect([await read(), await listed()]).toEqual([expect.stringContaining('Boil water first.'), ['coffee', 'tea']]);
      await writeFile(
        `${here.pith.sandbox}/agents/main/manifest.yaml`,
        agentFile('main', { uses_tools: ['skill_registry'], skills: { allow: ['coffee'] } }),
      );
      await here.pith.kernel.host.extensions.refresh();
      expect([await read(), await listed()]).toEqual([expect.stringContaining("there is no skill 'tea' here"), ['coffee']]);
    },
  );

  it('W5 W22 a saved skill of another user is a tool for an administrator whose token may do that, and not with a token for chats', async () => {
    const here = await served(scriptedModel([]));
    const as = (line: string) => here.pith.command(line, { userId: 'ada', json: true });
    await here.pith.write('files/greet.yml', JSON.stringify({ system_prompt: 'Greet.', description: 'Greets.' }));
    await as(`saved new greet --file ${here.pith.sandbox}/files/greet.yml`);
    await as('saved expose greet on');
    const offered = async (may: 'chat' | 'approve' | 'admin') => {
      const { client } = await clientOf(here, await here.token({ userId: 'admin', may }));
      return (await client.listTools()).tools.some(({ name }) => name === 'greet');
    };
    expect([await offered('chat'), await offered('approve'), await offered('admin')]).toEqual([false, false, true]);
  });

  it('W22 needs a token, and the session and the thread of another person are as unknown as none', async () => {
    const model = scriptedModel([{ text: 'noted' }]);
    const here = await served(model);
    const [ada, eve] = [await here.token({ userId: 'ada' }), await here.token({ userId: 'eve', may: 'approve' })];
    const headers = { accept: 'application/json, text/event-stream' };
    const list = (id: string) => ({
      method: 'POST',
      headers: { ...headers, 'mcp-session-id': id },
      json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect((await here.request('/mcp', list('x'))).status).toBe(401);
    const { client, transport } = await clientOf(here, ada);
    const session = transport.sessionId!;
    expect((await here.request('/mcp', { ...list(session), token: ada })).status).toBe(200);
    const [others, none] = [
      await here.request('/mcp', { ...list(session), token: eve }),
      await here.request('/mcp', { ...list('none'), token: eve }),
    ];
    expect([others.status, others.text]).toEqual([404, none.text]);
    for (const method of ['GET', 'DELETE'])
      expect((await here.request('/mcp', { method, headers: { ...headers, 'mcp-session-id': session }, token: eve })).status).toBe(404);
    const { structuredContent } = await client.callTool({ name: 'delegate_task', arguments: { task: 'note' } });
    const { thread } = structuredContent as { readonly thread: string };
    const stranger = await clientOf(here, eve);
    const refused = await stranger.client.callTool({ name: 'delegate_task', arguments: { task: 'more', thread } });
    expect(textOf(refused)).toMatch(/there is no thread/u);
    await transport.terminateSession();
    expect((await here.request('/mcp', { ...list(session), token: ada })).status).toBe(404);
  });

  it('W22 keeps twenty sessions of one person, and ends the one that was quiet for longest', async () => {
    const here = await served();
    const [ada, eve] = [await here.token({ userId: 'ada' }), await here.token({ userId: 'eve' })];
    const headers = { accept: 'application/json, text/event-stream' };
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const begin = async (token: string) =>
      (await here.request('/mcp', { method: 'POST', headers, token, json: initialize })).headers['mcp-session-id']!;
    const list = async (id: string, token: string) =>
      (
        await here.request('/mcp', {
          method: 'POST',
          headers: { ...headers, 'mcp-session-id': id },
          token,
          json: { jsonrpc: '2.0', id: 2, method: 'ping' },
        })
      ).status;
    const [first, second, others] = [await begin(ada), await begin(ada), await begin(eve)];
    for (let more = 2; more < 20; more += 1) await begin(ada);
    expect(await list(first, ada)).toBe(200); // and so it was used last
    await begin(ada);
    expect([await list(first, ada), await list(second, ada), await list(others, eve)]).toEqual([200, 404, 200]);
  });
});
