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
    return [defineTool({ name: 'plan', description: 'd', effect: 'read', input: z.object({}), execute: async () => (await this.context.jobs.add('later', null)).added })];
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
  'agents/worker/manifest.yaml': agentFile('worker', { instructions: 'You are WORKER.', uses_tools: [] }),
  ...extensionFiles('mine', { provides: ['tool'], main: MINE, manifest: { jobs: [{ name: 'later' }] } }),
};

const call = (name: string, input: object = {}) => ({ name, input });
/** Delegates, then does `act` at once. */
const answers =
  (act: NonNullable<ScriptedReply['calls']>) =>
  ({ messages }: ChatBody): ScriptedReply => {
    const system = JSON.stringify(messages[0]);
    const results = messages.filter(({ role }) => role === 'tool').length;
    if (system.includes('WORKER') && results === 0) return { calls: [call('complete_task', { result: 'it is done' })] };
    if (!system.includes('MAIN') || results > 1) return { text: 'done' };
    return { calls: results === 0 ? [call('delegate_task', { agent: 'helper', task: 'help' })] : act };
  };

async function world(act: NonNullable<ScriptedReply['calls']>) {
  const collector = await spanCollector();
  const server = await ownServer();
  server.script(...Array.from({ length: 20 }, () => answers(act)));
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
    call('whence'),
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
    `called by 00-${traceId}-${spanOf('execute_tool whence')?.spanId}-01`,
  );
  for (const { headers } of server.requests) expect(headers['traceparent']).toContain(`00-${traceId}-`);
});
