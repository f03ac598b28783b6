import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { scriptedModel, type ScriptedModel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { agentFile, skillFile } from '../../journeys/sandbox-files.ts';
import { type Asked, type ServedKernel, servedKernel } from './served-kernel.ts';

const FILES = {
  'pith.yaml': JSON.stringify({ default_agent: 'back', extensions: { http: { agents: ['front', 'desk', 'gone'] } } }),
  'agents/back/manifest.yaml': agentFile('back', { delegates_to: ['desk'] }),
  'agents/desk/manifest.yaml': agentFile('desk', {}),
  'agents/front/manifest.yaml': agentFile('front', { delegates_to: ['desk', 'back'] }),
  'skills/tea/SKILL.md': skillFile('tea', 'Makes tea.', 'Boil water.'),
};
/** A model that always has an answer. */
const ANSWERING: ScriptedModel = { ...scriptedModel([answer]), expectFinished: () => undefined };
const ONLY = ['http', 'program_turns', 'openai_api', 'ag_ui', 'rest_api', 'mcp_server', 'task_engine', 'skill_registry'];

const served = () => servedKernel({ model: ANSWERING, only: ONLY, commands: kernelCommands, files: FILES });

function answer() {
  ANSWERING.add(answer);
  return { text: 'done' };
}

/** Asks for an agent. */
type Ask = (agent: string) => Promise<{ readonly status: number; readonly text: string }>;

/** What each interface that takes the name of an agent answers to whose token this is. Those below /api are the ones that it describes. */
async function interfacesOf(here: ServedKernel, token: string): Promise<ReadonlyMap<string, Ask>> {
  const post = (path: string, json: Asked['json']) => here.request(path, { method: 'POST', token, json: json! });
  const { paths } = (await here.request('/api/openapi.json', { token })).json as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const named = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, about]) => (takesAgent(about) ? [`${method.toUpperCase()} ${path}`] : [])),
  );
  const thread = async () => ((await post('/api/threads', {})).json as { readonly id: string }).id;
  const known: Readonly<Record<string, Ask>> = {
    'POST /api/threads/{id}/messages': async (agent) => post(`/api/threads/${await thread()}/messages`, { text: 'x', agent }),
    'POST /api/tasks': (agent) => post('/api/tasks', { goal: ['x'], agent }),
    'GET /api/tools': (agent) => here.request(`/api/tools?agent=${agent}`, { token }),
    'GET /api/skills/{id}/explain': (agent) => here.request(`/api/skills/tea/explain?agent=${agent}`, { token }),
  };
  const messages = [{ role: 'user', content: 'x' }];
  const run = {
    threadId: 't',
    runId: 'r',
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
    messages: [{ id: 'm', ...messages[0]! }],
  };
  return new Map<string, Ask>([
    ...named.map((route) => [route, known[route] ?? (() => Promise.reject(new Error(`this test does not know ${route}`)))] as const),
    ['GET /v1/models/{id}', (id) => here.request(`/v1/models/${id}`, { token })],
    ['POST /v1/chat/completions', (model) => post('/v1/chat/completions', { model, messages })],
    ['POST /v1/responses', (model) => post('/v1/responses', { model, input: 'x' })],
    ['POST /ag-ui/{agent}', (agent) => post(`/ag-ui/${agent}`, run)],
    ['delegate_task', (agent) => delegated(here, token, { task: 'x', agent })],
  ]);
}

/** Whether a described route has an agent in its query or body. */
function takesAgent(about: unknown): boolean {
  const { parameters = [], requestBody } = about as {
    readonly parameters?: readonly { readonly name: string }[];
    readonly requestBody?: unknown;
  };
  return parameters.some(({ name }) => name === 'agent') || /"properties":\{[^]*?"agent":/u.test(JSON.stringify(requestBody ?? {}));
}

async function delegated(here: ServedKernel, token: string, task: Readonly<Record<string, string>>) {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${await here.port()}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  const { isError, content } = await client.callTool({ name: 'delegate_task', arguments: task });
  return { status: isError === true ? 404 : 200, text: JSON.stringify(content) };
}

describe('the agents that users reach', () => {
  it('W5 an agent that the settings do not list for users is as unknown as none, by every interface', async () => {
    const here = await served();
    const asks = await interfacesOf(here, await here.token({ userId: 'bob' }));
    expect(asks.size).toBe(9);
    for (const [name, ask] of asks) {
      const [hidden, none] = [await ask('back'), await ask('none')];
      expect([name, hidden.status, hidden.text.replaceAll('back', 'ID')]).toEqual([name, 404, none.text.replaceAll('none', 'ID')]);
    }
  });

  it('W5 users reach those that are listed, and administrators all', async () => {
    const here = await served();
    for (const [who, agents] of [
      [{ userId: 'bob' }, ['desk', 'front']],
      [{ userId: 'ada', role: 'admin' }, ['back', 'desk']],
    ] as const)
      for (const [name, ask] of await interfacesOf(here, await here.token(who)))
        for (const agent of agents) {
          expect([name, agent, (await ask(agent)).status]).toEqual([name, agent, 200]);
        }
  });

  it('W5 lists have those alone, and who names none gets the first of them', async () => {
    const here = await served();
    const [bob, ada] = [await here.token({ userId: 'bob' }), await here.token({ userId: 'ada', role: 'admin' })];
    const listed = async (token: string) => {
      const { json } = await here.request('/api/agents', { token });
      const { json: models } = await here.request('/v1/models', { token });
      return {
        agents: (json as readonly { readonly id: string; readonly default: boolean }[]).map(({ id, default: first }) => [id, first]),
        models: (models as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id),
      };
    };
    expect(await listed(bob)).toEqual({
      agents: [
        ['desk', false],
        ['front', true],
      ],
      models: ['front', 'desk'],
    });
    expect((await listed(ada)).models.toSorted()).toEqual(['back', 'desk', 'front']);
    const said = async (token: string) => {
      const { id } = (await here.request('/api/threads', { method: 'POST', token, json: {} })).json as { readonly id: string };
      await here.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'x' } });
      return ((await here.request(`/api/threads/${id}`, { token })).json as { readonly thread: { readonly agentId: string } }).thread
        .agentId;
    };
    expect([await said(bob), await said(ada)]).toEqual(['front', 'back']);
    const task = await here.request('/api/tasks', { method: 'POST', token: bob, json: { goal: ['x'] } });
    expect(task.json).toMatchObject({ agent: 'front' });
    expect((await delegated(here, bob, { task: 'x' })).status).toBe(200);
  });
});
