import path from 'node:path';
import { existsSync } from 'node:fs';
import type { AgentSpec, ExtensionContext } from 'pith';
import type { SkillRecord } from 'pith/skill_registry';
import { isModuleThere } from './toolsets/module-place.ts';
import { outcomeOf } from './toolsets/skill-toolset.ts';

/** What is known of a skill's scripts and toolsets without running them, for `pith skills explain`; null where it has none. */
export function explanationOf(
  skill: SkillRecord,
  agent: AgentSpec | null,
  { id, dataDirectory }: Pick<ExtensionContext, 'id' | 'dataDirectory'>,
) {
  const toolsets = toolsetReport(skill, dataDirectory);
  const scripts = scriptsOf(skill, agent, `${id}/run_skill_script`);
  if (toolsets === null && scripts.length === 0) return null;
  const lines = [
    ...(toolsets === null ? [] : toolsetLines(toolsets)),
    ...scripts.map(({ path: script, runs }) => `script ${script}: ${runs}`),
  ];
  return { lines, json: { ...(toolsets === null ? {} : { toolsets }), scripts } };
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

interface ToolsetReport {
  readonly modules: readonly string[];
  /** Those whose file is not in the skill's folder. */
  readonly missing: readonly string[];
  /** When they were last loaded; null: not yet. */
  readonly loaded: { readonly at: string; readonly tools: readonly string[]; readonly problems: readonly string[] } | null;
}

function toolsetReport({ id, toolsets, realDirectory }: SkillRecord, dataDirectory: string): ToolsetReport | null {
  if (toolsets.length === 0) return null;
  const missing = toolsets.filter((spec) => !isModuleThere(realDirectory, spec));
  const outcome = outcomeOf(dataDirectory, id);
  const loaded = outcome && { at: new Date(outcome.at).toISOString(), tools: outcome.tools, problems: outcome.problems };
  return { modules: toolsets, missing, loaded };
}

function toolsetLines({ modules, missing, loaded }: ToolsetReport): readonly string[] {
  return [
    `toolsets: ${modules.join(', ')}`,
    ...missing.map((spec) => `toolset '${spec}': error: there is no such file; correct the path or add the file`),
    loaded === null
      ? 'its tools have not been loaded yet: they come with the skill; pith doctor tries them'
      : `brought ${loaded.tools.length === 0 ? 'no tools' : loaded.tools.join(', ')} when last loaded, ${loaded.at}`,
    ...(loaded?.problems ?? []).map((problem) => `error: ${problem}`),
  ];
}
