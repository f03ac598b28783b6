import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type JsonValue, PithError } from 'pith';
import { RouteProvider } from 'pith/http';
import { expect, it, onTestFinished } from 'vitest';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { until } from '../../waiting.ts';
import { type ApiKernel, apiKernel, isTurn, upTo } from './api-kernel.ts';

const SKILL = '---\nname: letters\ndescription: Write a letter. Use when somebody wants a letter.\n---\n\nWrite it.\n';
const BAD = '---\nname: other\ndescription: A name that is not that of its folder.\n---\n';

/** What only a proposal has, which nobody made here. */
const UNANSWERED = ['/api/proposals/{id}', '/api/proposals/{id}/diff'];

it('W3 W31 no GET route answers with a path of the machine, whatever is asked for', async () => {
  const asks = { calls: [{ name: 'risk', input: {} }] };
  const working = { text: 'I read it', hang: true } as const;
  const api = await apiKernel([asks, working, working], {
    only: undefined as never,
    files: {
      'recipes/brew.md': '---\ndescription: Brew something\n---\nBrew.\n',
      'skills/letters/SKILL.md': SKILL,
      'skills/wrong/SKILL.md': BAD,
      'extensions/broken/manifest.yaml': '{id: broken, entrypoint: main.ts, provides: [tool]}',
      'extensions/broken/main.ts': 'export default class { constructor() { throw new Error(import.meta.url); } }',
    },
  });
  await api.port();
  const { sandbox } = api.pith;
  const token = await api.token({ role: 'admin', may: 'admin' });
  const thread = await api.thread(token);
  const post = async (path: string, json: JsonValue) => {
    const answer = await api.request(path, { method: 'POST', token, json });
    expect({ path, status: answer.status, json: answer.json }).toEqual({ path, status: 200, json: expect.anything() });
    return answer.json as { readonly id: string };
  };
  await post(`/api/threads/${thread}/messages`, { text: 'hi' });
  const { approvals } = (await api.request('/api/approvals', { token })).json as unknown as { approvals: readonly { id: string }[] };
  const read = `${sandbox}/notes.md`;
  await post('/api/saved', { name: 'greet', text: JSON.stringify({ system_prompt: 'Greet.', input_schema: [{ name: 'file' }] }) });
  const run = await post('/api/saved/local%2Fgreet/runs', { inputs: { file: read } });
  const task = await post('/api/tasks', { goal: ['Read', read] });
  await until(() => api.model.requests.length === 3);
  const [job] = (await api.request('/api/jobs', { token })).json as unknown as readonly { id: string }[];
  /** Of what is there, by the beginning of a path. */
  const ids: Readonly<Record<string, readonly (string | undefined)[]>> = {
    '/api/agents/': ['helper'],
    '/api/approvals/': approvals.map(({ id }) => id),
    '/api/extensions/': ['risky', 'rest_api', 'broken'],
    '/api/jobs/': [job?.id],
    '/api/recipes/': ['brew'],
    '/api/runs/': [run.id],
    '/api/saved/': ['local%2Fgreet'],
    '/api/skills/': ['letters', 'wrong'],
    '/api/tasks/': [task.id],
    '/api/threads/': [thread],
    '/api/trace/': [thread],
  };
  const provider = api.pith.kernel.host.providers.remote('rest_api', RouteProvider);
  const routes = ((await provider?.routes()) ?? []).filter(({ method, path }) => method === 'GET' && path !== '/api/events');
  const asked = routes.flatMap(({ path }) => {
    if (!path.includes('{')) return [path];
    const named = ids[path.slice(0, path.indexOf('{'))] ?? ['nothing'];
    return named.map((id) => path.replace(/\{\w+\}/u, String(id)));
  });
  expect(asked.length).toBeGreaterThan(COMMAND_ROUTES.filter(({ method }) => method === 'GET').length);
  const found: string[] = [];
  const answered = new Set<string>();
  const queries: Readonly<Record<string, string>> = { explain: '?text=letter', diff: '?from=1', resources: '?path=SKILL.md' };
  for (const path of [...asked, '/api/skills?all=true', '/api/all-skills/search?query=letter', '/api/tools?agent=helper']) {
    const { status, text } = await api.request(
      `${path}${path.startsWith('/api/skills/') ? (queries[path.split('/')[4] ?? ''] ?? '') : ''}`,
      {
        token,
      },
    );
    if (status < 300) answered.add(path);
    const home = process.env['HOME'] ?? sandbox;
    for (const folder of [sandbox, process.cwd(), home])
      if (text.includes(folder)) found.push(`${path}: ${text.slice(text.indexOf(folder) - 60, text.indexOf(folder) + 120)}`);
  }
  expect(found).toEqual([]);
  const withNames = routes.flatMap(({ path }) => (path.includes('{') && !UNANSWERED.includes(path) ? [path] : []));
  const isAnswered = (path: string): boolean =>
    [...answered].some(
      (each) => new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u').test(each) && !routes.some((other) => other.path === each),
    );
  expect(withNames.filter((path) => !isAnswered(path))).toEqual([]);
  expect((await api.request(`/api/tasks/${task.id}`, { token })).text).toContain('sandbox/notes.md');
  expect((await api.request(`/api/runs/${run.id}`, { token })).text).toContain('sandbox/notes.md');
});

/** An agent whose tools name their folder, in an answer, a title and an error. */
const TELLING = {
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [telling] }\n',
  'extensions/telling/manifest.yaml': '{id: telling, entrypoint: main.ts, provides: [tool]}',
  'extensions/telling/main.ts': `import { defineTool, toolError, toolResult, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const { directory } = this.context;
    const tool = (name, execute) => defineTool({ name, description: 'Tells.', input: z.object({ at: z.string() }), effect: 'read', execute });
    return [
      tool('where', async () => toolResult({ [directory]: directory }, { title: 'in ' + directory, metadata: { directory } })),
      tool('wrong', async () => toolError('wrong', 'nothing in ' + directory)),
    ];
  }
}
`,
};

it('W3 W31 no stream, end of a turn or interface for programs tells a path of the machine that neither a person nor the model wrote', async () => {
  let own = '';
  const calls = async () => ({ text: `See ${own}.`, calls: ['where', 'wrong'].map((name) => ({ name, input: { at: own } })) });
  const failure = async () => ({
    error: new PithError('model_failed', `no ${sandboxOf()}/model`, { cure: `see ${sandboxOf()}/pith.yaml` }),
  });
  const api: ApiKernel = await apiKernel(Array.from({ length: 7 }, () => [calls, failure]).flat(), {
    only: ['http', 'rest_api', 'program_turns', 'openai_api', 'ag_ui', 'mcp_server'],
    files: TELLING,
  });
  const { sandbox } = api.pith;
  const sandboxOf = () => sandbox;
  own = `${sandbox}/own.md`;
  const token = await api.token();
  const told = new Map<string, string>();
  const asked = async (name: string, path: string, json: JsonValue, headers: Readonly<Record<string, string>> = {}) => {
    told.set(name, (await api.request(path, { method: 'POST', token, json, headers })).text);
  };
  const said = [{ role: 'user', content: own }];

  const events = await api.events('/api/events', { token });
  await events.next();
  const thread = await api.thread(token);
  await asked('messages', `/api/threads/${thread}/messages`, { text: own });
  await asked('messages streamed', `/api/threads/${thread}/messages`, { text: own }, { accept: 'text/event-stream' });
  const live = [...(await upTo(events, isTurn('turn-end'))), ...(await upTo(events, isTurn('turn-end')))];
  told.set('events', JSON.stringify(live));
  const read = await api.request(`/api/threads/${thread}`, { token });
  expect(read.json).toMatchObject({ end: { error: { message: expect.stringContaining('no sandbox/model; see sandbox/pith.yaml') } } });
  told.set('thread', read.text);
  const steps = { 'x-pith-steps': 'show' };
  await asked('chat', '/v1/chat/completions', { model: 'helper', messages: said }, steps);
  await asked('chat streamed', '/v1/chat/completions', { model: 'helper', messages: said, stream: true }, steps);
  await asked('response streamed', '/v1/responses', { model: 'helper', input: own, stream: true }, steps);
  const run = {
    threadId: 'mine',
    runId: 'run',
    state: {},
    messages: [{ id: 'a', ...said[0] }],
    tools: [],
    context: [],
    forwardedProps: {},
  };
  await asked('ag-ui', '/ag-ui/helper', run as JsonValue);
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${await api.port()}/mcp`), { requestInit }));
  told.set('mcp', JSON.stringify(await client.callTool({ name: 'delegate_task', arguments: { task: own } })));

  expect(api.model.requests).toHaveLength(14);
  for (const [name, text] of told) {
    const others = text.replaceAll(own, '');
    expect([name, others.includes(sandbox), text.includes('sandbox/pith.yaml')]).toEqual([name, false, true]);
    expect([name, text.includes(own)]).toEqual([name, name !== 'chat']); // what the model said and called
  }
  for (const name of ['messages streamed', 'events', 'thread', 'ag-ui'])
    expect(told.get(name)).toContain('nothing in sandbox/extensions/telling');
  for (const name of ['messages streamed', 'events', 'chat streamed', 'response streamed'])
    expect(told.get(name)).toContain('in sandbox/extensions/telling');
});

it('W13 W21 what people wrote comes back as it is where a form sends it back, paths too', async () => {
  const api = await apiKernel([], { only: ['http', 'rest_api', 'saved_skills', 'task_engine', 'scheduler'] });
  const token = await api.token({ userId: 'local', role: 'admin', may: 'admin' });
  const system_prompt = `Read ${api.pith.sandbox}/notes.md first.`;
  const text = JSON.stringify({ description: 'Notes', system_prompt });
  const made = await api.request('/api/saved', { method: 'POST', token, json: { name: 'notes', text } });
  expect(made.status).toBe(200);
  const reference = encodeURIComponent('local/notes');
  expect((await api.request(`/api/saved/${reference}`, { token })).json).toMatchObject({ system_prompt });
  await api.request(`/api/saved/${reference}`, { method: 'PATCH', token, json: { text: JSON.stringify({ tags: ['a'] }) } });
  expect((await api.request(`/api/saved/${reference}`, { token })).json).toMatchObject({ system_prompt, tags: ['a'] });
});
