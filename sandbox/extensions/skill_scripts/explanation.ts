import path from 'node:path';
import { existsSync } from 'node:fs';
import type { AgentSpec } from 'pith';
import type { SkillRecord } from 'pith/skill_registry';
import { isModuleThere } from './toolsets/module-place.ts';

/** What is known of a skill's scripts and toolsets without running them, for `pith skills explain`; null where it has none. */
export function explanationOf(skill: SkillRecord, agent: AgentSpec | null, extensionId: string) {
  const { toolsets: modules, realDirectory } = skill;
  const scripts = scriptsOf(skill, agent, `${extensionId}/run_skill_script`);
  if (modules.length === 0 && scripts.length === 0) return null;
  const missing = modules.filter((name) => !isModuleThere(realDirectory, name));
  const lines = [
    ...(modules.length === 0 ? [] : [`toolsets: ${modules.join(', ')}; their tools come with the skill; pith doctor tries them`]),
    ...missing.map((name) => `toolset '${name}': error: there is no such file; correct the path or add the file`),
    ...scripts.map(({ path: script, runs }) => `script ${script}: ${runs}`),
  ];
  return { lines, json: { ...(modules.length === 0 ? {} : { toolsets: { modules, missing } }), scripts } };
}

/** The scripts that a skill names, and whether they can be run, or why not. */
function scriptsOf({ scripts, realDirectory, state }: SkillRecord, agent: AgentSpec | null, tool: string) {
  const byAgent =
    agent === null ? `by agents that name ${tool}` : agent.usesTools.includes(tool) ? 'yes' : `no, the agent does not name ${tool}`;
  return scripts.map(({ path: script }) => {
    const isThere = existsSync(path.join(realDirectory, script));
    return { path: script, runs: !isThere ? 'no, its file is missing' : state === 'offered' ? byAgent : `no, the skill is ${state}` };
  });
}
