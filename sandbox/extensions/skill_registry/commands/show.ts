import type { Command, JsonValue } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import { clean, diagnosticText, treeDigest } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import type { WithSkills } from './open-registry.ts';
import { skillJson } from './listed.ts';
import { wantedSkill } from './wanted.ts';

export function show(withSkills: WithSkills): Command {
  return {
    path: 'skills show',
    result: async () => (await import('./results.ts')).shownSkillResult(),
    description: 'Show the details and the text of a skill',
    arguments: [{ name: 'id', description: 'id, display name or source/id', required: true }],
    run: (input, io) =>
      withSkills(io, async (registry, snapshot) => {
        const skill = await wantedSkill(registry, snapshot, String(input.arguments['id']));
        const { body, sha256, stale } = await registry.readBody(skill);
        if (io.wantsJson) {
          io.json({ ...skillJson(skill), ...fieldsOf(skill), sha256, body, ...(stale === undefined ? {} : { stale }) });
          return;
        }
        const facts = Object.entries({
          ...factsOf(skill),
          ...fieldsOf(skill),
          sha256,
          folder: await treeDigest(skill.realDirectory),
        }).filter(([, value]) => !isEmpty(value));
        const width = Math.max(...facts.map(([key]) => key.length));
        for (const [key, value] of facts)
          io.print(`${key.padEnd(width)}  ${clean(typeof value === 'string' ? value : JSON.stringify(value))}`);
        for (const diagnostic of skill.diagnostics) io.print(diagnosticText(diagnostic));
        if (stale !== undefined) io.print(`note: ${printableLine(stale)}`);
        io.print(`\n${printable(body)}`);
      }),
  };
}

function factsOf(skill: Skill): Record<string, JsonValue> {
  const { id, name, state, reason, source, tokens, version, description } = skill;
  return {
    id,
    name: name === id ? null : name,
    state: reason === null ? state : `${state}: ${reason}`,
    source,
    path: skill.file,
    tokens: skill.tokensEstimated ? `about ${tokens}` : String(tokens),
    version,
    description,
  };
}

function fieldsOf(skill: Skill): { [key: string]: JsonValue } {
  const { tags, requires, examples, allowedTools, toolsets, scripts, brief, extra } = skill;
  return {
    ...(brief === null ? {} : { brief }),
    tags,
    requires,
    examples,
    allowedTools,
    toolsets,
    scripts: scripts.map(({ path, description, env, timeoutSeconds }) => ({
      path,
      ...(description === null ? {} : { description }),
      ...(env.length === 0 ? {} : { env }),
      ...(timeoutSeconds === null ? {} : { timeout_s: timeoutSeconds }),
    })),
    extra: extra as JsonValue,
  };
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
