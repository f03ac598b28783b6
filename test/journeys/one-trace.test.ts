import { createRequire } from 'node:module';
import { expect, it, onTestFinished } from 'vitest';
import type { ChatBody } from '../fixtures/openai-server.ts';
import type { ScriptedReply } from '../fixtures/scripted-server.ts';
import { until } from '../waiting.ts';
import { type PithProcess, startPith } from './pith-process.ts';
import { agentFile, bare, extensionFiles } from './sandbox-files.ts';
import { type SentSpan, spanCollector } from './span-collector.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

const resolved = (name: string) => JSON.stringify(createRequire(import.meta.url).resolve(name));
/** An MCP server whose tool says which span called it. */
const SERVER = `
const { McpServer } = await import(${resolved('@modelcontextprotocol/server')});
const { StdioServerTransport } = await import(${resolved('@modelcontextprotocol/server/stdio')});
const { z } = await import(${resolved('zod')});
const server = new McpServer({ name: 'fixture', version: '1.0.0' });
const about = { description: 'd', inputSchema: z.object({}), annotations: { readOnlyHint: true } };
server.registerTool('whence', about, (_, context) => ({ content: [{ type: 'text', text: 'called by ' + context.mcpReq._meta?.traceparent }] }));
await server.connect(new StdioServerTransport());`;

/** An extension of a stranger, in a process of its own. */
const MINE = `
import { defineTool, z } from 'pith';
export default class {
  constructor(context) {
    this.context = context;
    context.jobs.define('later', async () => undefined);
  }
  getTools() {
    const input = z.object({ wait: z.number().default(0) });
    const execute = async ({ wait }) => (await this.context.jobs.add('later', null, { at: this.context.clock.now() + wait })).added;
    return [defineTool({ name: 'plan', description: 'd', effect: 'read', input, execute })];
  }
}`;

const FILES = {
  ...bare(['cli_channel', 'openai_compatible', 'delegation', 'task_engine', 'mcp'], {
    default_agent: 'main',
    extensions: { mcp: { servers: { fixture: { command: process.execPath, args: ['--input-type=module', '-e', SERVER] } } } },
  }),
  'agents/main/manifest.yaml': agentFile('main', {
    instructions: 'You are MAIN.',
    uses_tools: ['delegation', 'mine', 'mcp', 'task_engine'],
    delegates_to: ['helper', 'worker'],
  }),
  'agents/helper/manifest.yaml': agentFile('helper', { instructions: 'You are HELPER.' }),
  'agents/worker/manifest.yaml': agentFile('worker', { instructions: 'You are WORKER.', uses_tools: ['task_engine'] }),
  ...extensionFiles('mine', { provides: ['tool'], main: MINE, manifest: { jobs: [{ name: 'later' }] } }),
};

type Calls = NonNullable<ScriptedReply['calls']>;
const call = (name: string, input: object = {}): Calls[number] => ({ name, input });
const called = ({ messages }: ChatBody, name: string) =>
  messages.some(({ tool_calls: calls = [] }) => calls.some((each) => each.function.name === name));

/** What the agents do: `main` delegates, waits for the tools of the server, and makes these calls at once; then comes `last`. */
const answers =
  (calls: Calls, last: ScriptedReply) =>
  (body: ChatBody): ScriptedReply => {
    const system = JSON.stringify(body.messages[0]);
    if (system.includes('WORKER') && !called(body, 'complete_task')) return { calls: [call('complete_task', { result: 'it is done' })] };
    if (!system.includes('MAIN')) return { text: 'done' };
    if (!called(body, 'delegate_task')) return { calls: [call('delegate_task', { agent_id: 'helper', task: 'help' })] };
    if (!body.tools?.some((tool) => tool.function.name === 'fixture_whence')) return { calls: [call('list_agents')] };
    return called(body, 'plan') ? last : { calls };
  };

async function world(calls: Calls, last: ScriptedReply = { text: 'done' }) {
  const collector = await spanCollector();
  const server = await ownServer();
  server.script(...Array.from({ length: 100 }, () => answers(calls, last)));
  const folder = await ownFolder(FILES);
  const env = { ...server.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const start = (...argv: readonly string[]): PithProcess => {
    const started = startPith(argv, { cwd: folder.path, env, input: null });
    onTestFinished(async () => {
      started.child.kill('SIGKILL');
      await started.ended;
    });
    return started;
  };
  return { collector, server, start };
}

const namesOf = (spans: readonly SentSpan[]) => spans.map(({ name }) => name);
const tracesOf = (spans: readonly SentSpan[]) => [...new Set(spans.map(({ traceId }) => traceId))];

it('U51 U42 one message has one trace: its agents, the tool of a process, the job, the task with its result and the MCP call', async () => {
  const { collector, server, start } = await world([
    call('plan'),
    call('fixture_whence'),
    call('submit_task', { goal: 'do it', agent_id: 'worker' }),
  ]);
  const chat = start('chat', '-p', 'go');
  expect(await chat.ended).toMatchObject({ code: 0 });
  const serving = start('serve');
  await until(() =>
    expect(namesOf(collector.spans())).toEqual(expect.arrayContaining(['process task_engine.announce', 'process mine.later'])),
  );
  serving.child.kill('SIGTERM');
  await serving.ended;
  const spans = collector.spans();
  expect(namesOf(spans)).toEqual(
    expect.arrayContaining([
      'invoke_agent main',
      'invoke_agent helper',
      'invoke_agent worker',
      'execute_tool plan',
      'execute_tool complete_task',
      'process mine.later',
      'process task_engine.work',
    ]),
  );
  expect(tracesOf(spans)).toHaveLength(1);
  const spanOf = (name: string) => spans.find((span) => span.name === name);
  expect(spanOf('process mine.later')?.parentSpanId).toBe(spanOf('execute_tool plan')?.spanId);
  const [traceId] = tracesOf(spans);
  expect(JSON.stringify(server.requests.map(({ body }) => body))).toContain(
    `called by 00-${traceId}-${spanOf('execute_tool fixture_whence')?.spanId}-01`,
  );
  for (const { headers } of server.requests) expect(headers['traceparent']).toContain(`00-${traceId}-`);
});

it('U51 a job whose process was killed before it began is worked on in the trace of the message, by another process', async () => {
  const { collector, server, start } = await world([call('plan', { wait: 5_000 })], { text: 'never said', stallAfter: 0 });
  const chat = start('chat', '-p', 'go');
  const asked = await until(() => server.requests.find(({ body }) => called(body, 'plan')) ?? false);
  chat.child.kill('SIGKILL');
  await chat.ended;
  const jobsOf = () => collector.spans().filter(({ name }) => name === 'process mine.later');
  expect(jobsOf()).toEqual([]);
  start('serve');
  const [job] = await until(() => (jobsOf().length > 0 ? jobsOf() : false));
  expect(asked.headers['traceparent']).toContain(`00-${job?.traceId}-`);
  expect(collector.spans().find(({ spanId }) => spanId === job?.parentSpanId)?.name ?? 'execute_tool plan').toBe('execute_tool plan'); // it may have died unsent
});
