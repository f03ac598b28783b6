import { isPattern } from '../modes/allowed-tools.ts';
import type { Skill } from '../skill.ts';

export interface AllowedToolsReport {
  readonly [key: string]: readonly string[];
  /** What `run_skill` grants where the agent has it, and `read_skill` shows as advice. */
  readonly names: readonly string[];
  /** What restricts arguments, which nothing here can hold a call to. */
  readonly grantNothing: readonly string[];
}

/** What `allowed-tools` comes to; undefined for a skill without it. Whether a name is there depends on who runs the skill. */
export function allowedToolsOf({ allowedTools }: Skill): AllowedToolsReport | undefined {
  if (allowedTools === null) return undefined;
  return { names: allowedTools.filter((entry) => !isPattern(entry)), grantNothing: allowedTools.filter(isPattern) };
}

export function* allowedToolsLines({ names, grantNothing }: AllowedToolsReport): Iterable<string> {
  if (names.length > 0 || grantNothing.length === 0)
    yield `allowed tools: ${names.join(', ') || 'none'} (run_skill holds to them, read_skill shows them as advice)`;
  for (const entry of grantNothing) yield `allowed tool ${entry}: grants nothing, because patterns over arguments are not supported`;
}
