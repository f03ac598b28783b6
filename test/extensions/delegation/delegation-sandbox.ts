import type { JsonValue } from 'pith';
import { scriptedModel, type FakeClock, type ModelRequest, type ScriptedModel, type ScriptedStep, type TestKernel } from 'pith/testing';
import { kernelOf } from '../../places.ts';

type Agents = Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;

/** Tools that say what they were called with. */
const TOYS = `import { defineTool, z } from 'pith';
export default class Toys {
  getTools() {
    const tool = (name, run) => defineTool({ name, description: name, effect: 'read', input: z.looseObject({}), execute: run });
    return [tool('look', () => 'seen'), tool('poke', () => 'poked'), tool('whoami', (_, { turn }) => ({ agent: turn.agent.id, thread: turn.threadId, depth: turn.depth, user: turn.userId, channel: turn.channelId, correlation: turn.correlationId, tools: turn.tools }))];
  }
}
`;

export interface World {
  readonly pith: TestKernel;
  readonly model: ScriptedModel;
}

/** A kernel with these agents; `boss` is the default one and has the tools of delegation and the toys. */
export async function world(
  agents: Agents,
  script: readonly ScriptedStep[],
  options: { readonly clock?: FakeClock; readonly files?: Readonly<Record<string, string>> } = {},
): Promise<World> {
  const model = scriptedModel(script);
  const all: Agents = { boss: {}, ...agents };
  const manifests = Object.entries(all).map(([id, parts]) => {
    const uses_tools: readonly JsonValue[] = id === 'boss' ? ['delegation', 'toys'] : [];
    return [`agents/${id}/manifest.yaml`, JSON.stringify({ id, agent: { instructions: `I AM ${id}.`, uses_tools, ...parts } })] as const;
  });
  const pith = await kernelOf({
    only: ['delegation'],
    model,
    clock: options.clock,
    files: {
      'pith.yaml': 'default_agent: boss\n',
      'extensions/toys/manifest.yaml': 'id: toys\nentrypoint: main.ts\nprovides: [tool]\nisolation: in_process\n',
      'extensions/toys/main.ts': TOYS,
      ...Object.fromEntries(manifests),
      ...options.files,
    },
  });
  return { pith, model };
}

export const call = (name: string, input: JsonValue) => ({ calls: [{ name, input }] });
export const calls = (...each: readonly (readonly [string, JsonValue])[]): ScriptedStep => ({
  calls: each.map(([name, input]) => ({ name, input })),
});

/** The tool results in the last message that the model was sent, as it reads them. */
export function readResults(request: ModelRequest | undefined): readonly JsonValue[] {
  const last = request?.messages.at(-1);
  if (last?.role !== 'tool') return [];
  return last.content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const { output } = part;
    if (output.type === 'text') return [output.value.startsWith('{') ? (JSON.parse(output.value) as JsonValue) : output.value];
    return output.type === 'error-json' ? [output.value as JsonValue] : [];
  });
}

/** The text of the first message that the model was sent. */
export function asked(request: ModelRequest | undefined): string {
  const first = request?.messages[0];
  return first?.role === 'user' ? first.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') : '';
}

export function toolNames(request: ModelRequest | undefined): readonly string[] {
  return (request?.tools ?? []).map(({ name }) => name);
}
