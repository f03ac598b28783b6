import type { JsonValue } from 'pith';
import {
  scriptedModel,
  testKernel,
  type ScriptedModel,
  type ScriptedStep,
  type TestKernel,
  type TestKernelOptions,
  type TurnOutcome,
} from 'pith/testing';
import { expect, onTestFinished } from 'vitest';
import { TOOLSETS_RUN } from '../../../fixtures/toolset-settings.ts';
import { skillText } from '../skill-sandbox.ts';

export const skill = (id: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`skills/${id}/SKILL.md`]: skillText({ name: id, description: `Knows all about ${id}.`, body: `BODY-OF-${id}\n`, ...values }),
});

/** An agent by its manifest's lines under `agent:`. */
export const agent = (id: string, ...lines: readonly string[]) => ({
  [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent:\n  model: scripted/scripted\n${lines.map((line) => `  ${line}\n`).join('')}`,
});

export const call = (name: string, input: JsonValue): ScriptedStep => ({ calls: [{ name, input }] });

export interface ModeKernel {
  readonly pith: TestKernel;
  readonly model: ScriptedModel;
  /** One turn of `agent` in which the model does `steps`, then answers. */
  turn(agent: string, input: string, ...steps: readonly ScriptedStep[]): Promise<TurnOutcome>;
}

/** The real kernel over these files, with the skills of the sandbox only. */
export async function modeKernel(
  files: Readonly<Record<string, string>>,
  options: TestKernelOptions & { contextWindow?: number } = {},
): Promise<ModeKernel> {
  const model = scriptedModel([], { contextWindow: options.contextWindow ?? null });
  const settings = `skills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n${TOOLSETS_RUN}`;
  const pith = await testKernel({ ...options, model, files: { 'pith.yaml': settings, ...files } });
  onTestFinished(() => pith.stop());
  return {
    pith,
    model,
    async turn(id, input, ...steps) {
      model.add(...steps, { text: 'done' });
      const outcome = await pith.run(input, { agent: id, threadId: id });
      expect(outcome, JSON.stringify(outcome.error)).toMatchObject({ reason: 'done' });
      return outcome;
    },
  };
}

export function toolsOf(outcome: TurnOutcome, step = 0): readonly string[] {
  return outcome.requests[step]!.tools.map(({ name }) => name);
}

/** The text of the newest tool result that the model was sent. */
export function lastResult({ requests }: TurnOutcome): string {
  const parts = requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const last = parts.at(-1);
  if (last?.type !== 'tool-result') throw new Error('the model was sent no tool result');
  return 'value' in last.output ? (typeof last.output.value === 'string' ? last.output.value : JSON.stringify(last.output.value)) : '';
}
