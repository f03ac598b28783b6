import type { JsonValue } from 'pith';
import { scriptedModel, testKernel, type ScriptedModel, type ScriptedStep, type TestKernel, type TurnOutcome } from 'pith/testing';
import { skillUsed, type SkillUsed } from '../../../../sandbox/extensions/skill_registry/contract.ts';
import { skillText } from '../skill-sandbox.ts';

export const skill = (id: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`skills/${id}/SKILL.md`]: skillText({ name: id, description: `Knows all about ${id}.`, body: `BODY-OF-${id}\n`, ...values }),
});

export const call = (name: string, input: JsonValue): ScriptedStep => ({ calls: [{ name, input }] });

export interface LedgerKernel {
  readonly pith: TestKernel;
  readonly model: ScriptedModel;
  /** Payloads of `skill.used`. */
  readonly used: SkillUsed[];
  /** One turn in which the model does `steps`, then answers. */
  turn(input: string, steps?: readonly ScriptedStep[], thread?: string): Promise<TurnOutcome>;
  /** The JSON of a command of the skill registry. */
  command(line: string): Promise<Record<string, JsonValue>>;
  /** What the command prints for people. */
  print(line: string): Promise<string>;
  /** Listens again after a restart. */
  listen(): void;
}

const READER = 'id: reader\nagent: { uses_tools: [skill_registry], instructions: READER }\n';
const SETTINGS = 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n';

/** The real kernel over these skills, with a reader that holds the read tools. */
export async function ledgerKernel(
  files: Readonly<Record<string, string>>,
  options: { readonly contextWindow?: number; readonly sandbox?: string } = {},
): Promise<LedgerKernel> {
  const model = scriptedModel([], { contextWindow: options.contextWindow ?? null });
  const pith = await testKernel({
    model,
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    files: { 'agents/reader/manifest.yaml': READER, 'pith.yaml': SETTINGS, ...files },
  });
  const used: SkillUsed[] = [];
  const listen = () => void pith.kernel.events.handle(skillUsed, (payload) => void used.push(payload));
  listen();
  return {
    pith,
    model,
    used,
    listen,
    async turn(input, steps = [], thread = 'test') {
      model.add(...steps, { text: 'done' });
      const outcome = await pith.run(input, { threadId: thread });
      if (outcome.reason !== 'done') throw new Error(JSON.stringify(outcome.error));
      return outcome;
    },
    command: async (line) => (await pith.command(line, { json: true })).values[0] as Record<string, JsonValue>,
    print: async (line) => (await pith.command(line)).text,
  };
}
