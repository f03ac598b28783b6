import type { JsonValue } from 'pith';
import {
  scriptedModel,
  testKernel,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
  type TestKernel,
  type TestKernelOptions,
  type TurnOutcome,
} from 'pith/testing';
import { expect, onTestFinished } from 'vitest';
import { skillUsed, type SkillUsed } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { TOOLSETS_RUN } from '../../fixtures/toolset-settings.ts';
import { skillText } from './skill-sandbox.ts';

export const skill = (id: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`skills/${id}/SKILL.md`]: skillText({ name: id, description: `Knows all about ${id}.`, body: `BODY-OF-${id}\n`, ...values }),
});

/** So many skills, of which only ids and descriptions differ. */
export function crowd(count: number, idOf: (at: number) => string, described?: (at: number) => string): Record<string, string> {
  const ids = Array.from({ length: count }, (_, at) => idOf(at));
  return Object.assign({}, ...ids.map((id, at) => skill(id, described && { description: described(at) }))) as Record<string, string>;
}

/** Settings with the skills of the sandbox only: further keys below `skills`, and other lines. */
export const settings = (skills = '', more = '') => ({
  'pith.yaml': `default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0${skills && `, ${skills}`} }\n${more}`,
});

/** Settings with which an extension is switched off. */
export const without = (extension: string) => settings('', `extensions: { ${extension}: { enabled: false } }\n`);

/** Settings with which people's texts teach. */
export const LEARNS = settings('learn_examples: true');

/** An agent by its manifest's lines under `agent:`. */
export const agent = (id: string, ...lines: readonly string[]) => ({
  [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent:\n  model: scripted/scripted\n${lines.map((line) => `  ${line}\n`).join('')}`,
});

export const call = (name: string, input: JsonValue): ScriptedReply => ({ calls: [{ name, input }] });

/** An extension whose ranker knows nothing but the alphabet, backwards. `upsert`: what it does with each document first; `rank`: with a query. */
export const rankerExtension = (upsert = '', rank = '', more = '') => ({
  'extensions/my_ranker/manifest.yaml':
    'id: my_ranker\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [skills.ranker]\ndepends_on: [skill_registry]\n',
  'extensions/my_ranker/main.ts': `import { RankerProvider } from 'pith/skill_registry';
export default class MyRanker {
  constructor(context) { context.provide(RankerProvider, this); }
  ids = new Set();
  async upsert(documents) { for (const { id, examples } of documents) { ${upsert} this.ids.add(id); } }
  async remove(ids) { for (const id of ids) this.ids.delete(id); }
  async rank(query) {
    if (query.includes('explode')) throw new Error('BOOM');
    ${rank}
    return [...this.ids].sort().reverse()${more}.map((id) => ({ id, score: 1, why: ['backwards'] }));
  }
}
`,
});

export interface SkillKernel {
  readonly pith: TestKernel;
  readonly model: ScriptedModel;
  /** Payloads of `skill.used`. */
  readonly used: SkillUsed[];
  /** Listens for them again after a restart. */
  listen(): void;
  /** One turn of `agent`, in a thread of its name, in which the model does `steps`, then answers. */
  turn(agent: string, input: string, ...steps: readonly ScriptedStep[]): Promise<TurnOutcome>;
  /** The same by the default agent. */
  chat(input: string, steps?: readonly ScriptedStep[], thread?: string): Promise<TurnOutcome>;
  /** What the default agent's model is sent as the result of one call. */
  resultOf(tool: string, input: JsonValue): Promise<string>;
  /** The JSON of a command, and what it prints for people. */
  command(line: string): Promise<Record<string, JsonValue>>;
  print(line: string): Promise<string>;
}

/** The extensions that have to do with skills. */
export const SKILLS = ['agent_files', 'compaction', 'skill_registry', 'skill_scripts', 'skill_search', 'skill_stats', 'skill_triggers'];

/** The real kernel over these files, with the skills of the sandbox only; the default agent, `reader`, holds the read tools. Ends with the test. */
export async function skillKernel(
  files: Readonly<Record<string, string | Uint8Array>>,
  { contextWindow = null, ...options }: TestKernelOptions & { readonly contextWindow?: number | null } = {},
): Promise<SkillKernel> {
  const model = scriptedModel([], { contextWindow });
  const reader = 'id: reader\nagent: { uses_tools: [skill_registry], instructions: READER }\n';
  const pith = await testKernel({
    only: SKILLS,
    ...options,
    model,
    files: { 'agents/reader/manifest.yaml': reader, ...settings('', TOOLSETS_RUN), ...files },
  });
  onTestFinished(() => pith.stop());
  const used: SkillUsed[] = [];
  const listen = () => void pith.kernel.events.handle(skillUsed, (payload) => void used.push(payload));
  listen();
  const run = async (input: string, steps: readonly ScriptedStep[], asked: Parameters<TestKernel['run']>[1]) => {
    model.add(...steps, { text: 'done' });
    const outcome = await pith.run(input, asked);
    expect(outcome, JSON.stringify(outcome.error)).toMatchObject({ reason: 'done' });
    return outcome;
  };
  const chat: SkillKernel['chat'] = (input, steps = [], threadId = 'test') => run(input, steps, { threadId });
  return {
    pith,
    model,
    used,
    listen,
    chat,
    turn: (id, input, ...steps) => run(input, steps, { agent: id, threadId: id }),
    resultOf: async (tool, input) => lastResult(await chat('go on', [call(tool, input)])),
    command: async (line) => (await pith.command(line, { json: true })).values[0] as Record<string, JsonValue>,
    print: async (line) => (await pith.command(line)).text,
  };
}

export function toolsOf(outcome: TurnOutcome, step = 0): readonly string[] {
  return outcome.requests[step]!.tools.map(({ name }) => name);
}

/** The text of the newest tool result that the model was sent. */
export function lastResult({ requests }: TurnOutcome, step = -1): string {
  const parts = requests.at(step)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const last = parts.at(-1);
  if (last?.type !== 'tool-result') throw new Error('the model was sent no tool result');
  return 'value' in last.output ? (typeof last.output.value === 'string' ? last.output.value : JSON.stringify(last.output.value)) : '';
}
