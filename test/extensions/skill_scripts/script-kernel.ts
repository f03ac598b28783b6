import { chmod } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import type { ScriptedModel, TestKernel, TestKernelOptions, TurnOutcome } from 'pith/testing';
import { expect } from 'vitest';
import { call, skillKernel } from '../skill_registry/skill-kernel.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';

/** A kernel with one skill, `tool-kit`, and an agent that may run its scripts. */
export interface ScriptKernel {
  readonly pith: TestKernel;
  readonly model: ScriptedModel;
  /** Absolute path of the skill's folder. */
  readonly skill: string;
  /** What a model that calls the tool is told. Nobody is asked: the settings say so. */
  run(script: string, args?: readonly string[]): Promise<Told>;
  /** One turn in which the model calls the tool with these arguments, then answers. */
  turn(input: JsonValue): Promise<TurnOutcome>;
}

export interface Told {
  readonly ok: boolean;
  readonly output: string;
  readonly code: string | undefined;
  readonly line: string | undefined;
  readonly metadata: JsonValue | undefined;
}

export async function scriptKernel(
  scripts: Readonly<Record<string, string>>,
  { settings = 'approval: never', more = '', ...options }: { readonly settings?: string; readonly more?: string } & TestKernelOptions = {},
): Promise<ScriptKernel> {
  const files: Record<string, string> = {
    'agents/runner/manifest.yaml':
      'id: runner\nagent: { uses_tools: [skill_registry, skill_scripts/run_skill_script], instructions: RUNNER }\n',
    'pith.yaml': `default_agent: runner\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0, scripts: { ${settings} } }\n`,
    'skills/tool-kit/SKILL.md': skillText({ name: 'tool-kit', more }),
    ...Object.fromEntries(Object.entries(scripts).map(([file, text]) => [`skills/tool-kit/${file}`, text])),
  };
  const { pith, model } = await skillKernel({ ...files, ...options.files }, { only: ['skill_registry', 'skill_scripts'], ...options });
  const skill = path.join(pith.sandbox, 'skills/tool-kit');
  for (const file of Object.keys(scripts)) await chmod(path.join(skill, file), 0o644);
  const turn = async (input: JsonValue): Promise<TurnOutcome> => {
    model.add(call('run_skill_script', input), { text: 'done' });
    return pith.run('go on');
  };
  return {
    pith,
    model,
    skill,
    turn,
    async run(script, args = []) {
      const { results, requests, reason, error } = await turn({ skill_id: 'tool-kit', script, args: [...args] });
      expect(reason, JSON.stringify(error)).toBe('done');
      const [result] = results;
      const sent = JSON.stringify(requests.at(-1)?.messages.at(-1));
      const output = result?.ok ? String(result.output) : (result?.error?.message ?? '');
      expect(sent).toContain(JSON.stringify(output).slice(1, 60)); // the model was sent it
      return { ok: result?.ok === true, output, code: result?.error?.code, line: result?.line, metadata: result?.metadata };
    },
  };
}
