import { OpenAI } from 'openai';
import { type ModelRequest, scriptedModel, type ScriptedStep } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { servedKernel } from '../http/served-kernel.ts';

/** An agent with the tools `look` (which reads) and `change` (which a person approves); `ran` counts their calls. */
export const FILES = {
  'agents/helper/manifest.yaml': 'id: helper\nname: Helper\nagent: { uses_tools: [desk], instructions: You help. }\n',
  'agents/other/manifest.yaml': 'id: other\nname: Other\nagent: { uses_tools: [], instructions: You are another. }\n',
  'extensions/desk/manifest.yaml': 'id: desk\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/desk/main.ts': `
import { defineTool, z } from 'pith';
export default class Desk {
  constructor(private readonly context) {}
  getTools() {
    const count = async (name) => this.context.kv.set(name, Number((await this.context.kv.get(name)) ?? 0) + 1);
    const tool = (name, more) => defineTool({ name, description: name, input: z.object({ what: z.string() }), ...more,
      execute: async ({ what }) => { await count(name); return name + ' ' + what; } });
    return [tool('look', { effect: 'read' }), tool('change', { needsApproval: (input) => ({ summary: 'change ' + input.what, text: '' }) }),
      tool('note', { effect: 'write' }), defineTool({ name: 'counts', description: 'c', input: z.object({}), effect: 'read',
        execute: async () => Object.fromEntries(await Promise.all((await this.context.kv.keys()).map(async (key) => [key, await this.context.kv.get(key)]))) })];
  }
}
`,
};

/** A kernel that serves the interfaces for programs, with a model of this script. */
export async function servedAgents(steps: readonly ScriptedStep[], more: Parameters<typeof servedKernel>[0] = {}) {
  const model = scriptedModel(steps);
  const served = await servedKernel({
    only: ['http', 'program_turns', 'openai_api', 'ag_ui'],
    model,
    commands: kernelCommands,
    ...more,
    files: { ...FILES, ...more.files },
  });
  return { ...served, model, base: async () => `http://127.0.0.1:${await served.port()}/v1` };
}

type Served = Awaited<ReturnType<typeof servedAgents>>;

/** The client of this API for a new token, or with this text as one. */
export async function clientOf(served: Served, who: string | Parameters<Served['token']>[0] = { userId: 'ada' }): Promise<OpenAI> {
  const apiKey = typeof who === 'string' ? who : await served.token(who);
  return new OpenAI({ baseURL: await served.base(), apiKey, maxRetries: 0 });
}

/** Who said what, as the model was sent it. */
export function textsOf({ messages }: ModelRequest): readonly (readonly [role: string, text: string])[] {
  return messages.map(({ role, content }) => [role, (content.at(-1) as { readonly text?: string }).text ?? '']);
}
