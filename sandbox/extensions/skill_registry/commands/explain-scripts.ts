import { existsSync } from 'node:fs';
import path from 'node:path';
import type { AgentSpec } from 'pith';
import type { Skill } from '../skill.ts';

export interface ScriptReport {
  readonly [key: string]: string;
  readonly path: string;
  /** Whether it can be run, or why not. */
  readonly runs: string;
}

/** The scripts that a skill names, and who can run them. */
export function scriptsOf(skill: Skill, agent: AgentSpec | null, extensionId: string): readonly ScriptReport[] {
  const tool = `${extensionId}/run_skill_script`;
  const byAgent =
    agent === null ? `by agents that name ${tool}` : agent.usesTools.includes(tool) ? 'yes' : `no, the agent does not name ${tool}`;
  return skill.scripts.map(({ path: script }) => {
    const isThere = existsSync(path.join(skill.realDirectory, script));
    return {
      path: script,
      runs: !isThere ? 'no, its file is missing' : skill.state === 'offered' ? byAgent : `no, the skill is ${skill.state}`,
    };
  });
}
