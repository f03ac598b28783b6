import { CommandProvider, type JsonValue } from 'pith';
import { type Route, RouteProvider } from 'pith/http';
import { expect } from 'vitest';
import { scriptedModel, type ScriptedStep, type TestKernelOptions } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { responsesOf } from '../../../sandbox/extensions/rest_api/commands/openapi.ts';
import { pageResult } from '../../../sandbox/extensions/rest_api/commands/pages.ts';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { type Answered, type Asked, servedKernel, type ServedKernel } from '../http/served-kernel.ts';

/** An agent with a tool that asks a person, and one that does not. */
const FILES = {
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky] }\n',
  'pith.yaml': 'default_agent: helper\n',
  'extensions/risky/manifest.yaml': '{id: risky, entrypoint: main.ts, provides: [tool]}',
  'extensions/risky/main.ts': `import { defineTool, z } from 'pith';
export default class {
  getTools() {
    const tool = (name, needsApproval) => defineTool({ name, description: 'Acts.', input: z.object({}), needsApproval, execute: async () => 'did ' + name });
    return [tool('risk', true), tool('act', false)];
  }
}
`,
};

export interface ServerEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, JsonValue>;
}

export interface ApiKernel extends ServedKernel {
  readonly model: ReturnType<typeof scriptedModel>;
  /** Events of a stream, as they come; `leave` closes the connection. */
  events(path: string, asked?: Asked): Promise<{ readonly status: number; next(): Promise<ServerEvent | null>; leave(): void }>;
  /** A new thread of whose token it is. */
  thread(token: string): Promise<string>;
}

export async function apiKernel(script: readonly ScriptedStep[] = [], options: TestKernelOptions = {}): Promise<ApiKernel> {
  const model = scriptedModel(script);
  const served = await servedKernel({
    model,
    only: ['http', 'rest_api'],
    commands: kernelCommands,
    ...options,
    files: { ...FILES, ...options.files },
  });
  /** As a client would: what a route answers is what its description says. */
  async function checkAnswer(path: string, asked: Asked, answer: Omit<Answered, 'text'>): Promise<void> {
    if (answer.status >= 300) return;
    const routes = (await served.pith.kernel.host.providers.remote('rest_api', RouteProvider)?.routes()) ?? [];
    const [place = ''] = path.split('?');
    const route = routes.find(
      (each) => each.method === (asked.method ?? 'GET') && new RegExp(`^${each.path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u').test(place),
    );
    if (route === undefined) return;
    const responses = responsesOf(route);
    const type = answer.headers['content-type']?.split(';')[0];
    expect([route.method, route.path, Object.keys(responses)]).toEqual([
      route.method,
      route.path,
      expect.arrayContaining([String(answer.status)]),
    ]);
    expect([route.path, Object.keys(Object(responses[answer.status]?.['content']))]).toEqual([
      route.path,
      type === undefined ? [] : expect.arrayContaining([type]),
    ]);
    if (type === 'application/json' && answer.status === 200)
      ((await commandResult(served.pith.kernel, route)) ?? route.result)?.parse(answer.json);
  }
  async function request(path: string, asked: Asked = {}): Promise<Answered> {
    const answer = await served.request(path, asked);
    await checkAnswer(path, asked, answer);
    return answer;
  }
  return {
    ...served,
    request,
    model,
    async thread(token) {
      const { json } = await request('/api/threads', { method: 'POST', token, json: {} });
      return (json as { readonly id: string }).id;
    },
    async events(path, { headers = {}, ...asked } = {}) {
      const opened = await served.open(path, { ...asked, headers: { accept: 'text/event-stream', ...headers } });
      await checkAnswer(path, asked, { ...opened, json: undefined });
      const { status, parts, leave } = opened;
      let read = '';
      const next = async (): Promise<ServerEvent | null> => {
        for (;;) {
          const [whole, rest] = read.split(/\n\n([\s\S]*)/u, 2);
          if (rest !== undefined) {
            read = rest;
            return eventOf(whole ?? '');
          }
          const { done, value } = await parts.next();
          if (done === true) return null;
          read += value;
        }
      };
      return { status, next, leave };
    },
  };
}

/** What the command of a route says that it prints with `--json`, as its route answers it; undefined: it is no command, or does not say. */
async function commandResult(kernel: ServedKernel['pith']['kernel'], { method, path }: Pick<Route, 'method' | 'path'>) {
  const route = COMMAND_ROUTES.find((each) => each.method === method && each.path === path);
  const active = kernel.host.extensions.list().filter(({ state, provides }) => state === 'active' && provides.includes('command'));
  const others = await Promise.all(active.map(({ id }) => kernel.host.providers.remote(id, CommandProvider)?.getCommands() ?? []));
  const result = await [...kernelCommands(kernel), ...others.flat()].find((each) => each.path === route?.command)?.result?.();
  return result === undefined || route?.list === undefined ? result : pageResult(route.list, result);
}

function eventOf(text: string): ServerEvent {
  const fields = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const));
  return {
    event: fields.get('event') ?? '',
    id: fields.get('id'),
    data: JSON.parse(fields.get('data') ?? '{}') as ServerEvent['data'],
  };
}

/** Whether an event of a stream is one of a turn, and of this type. */
export const isTurn =
  (type: string) =>
  ({ event, data }: ServerEvent): boolean =>
    event === 'turn' && (data['event'] as { readonly type?: string } | undefined)?.type === type;

/** The events of a stream until one that `is` asked for, and that one. */
export async function upTo(
  stream: { next(): Promise<ServerEvent | null> },
  is: (event: ServerEvent) => boolean,
): Promise<readonly ServerEvent[]> {
  const seen: ServerEvent[] = [];
  for (;;) {
    const event = await stream.next();
    if (event === null) throw new Error(`the stream ended: ${JSON.stringify(seen)}`);
    seen.push(event);
    if (is(event)) return seen;
  }
}
