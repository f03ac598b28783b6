import type { ToolCall, ToolResult } from 'pith';
import { printableLine } from '@pith/plain-text';
import { readResource } from '@pith/skill-files';
import type { SkillTurns } from '../turns.ts';
import type { Skill } from '../skill.ts';
import { skillError, skillResult } from './results.ts';

/** A file of a skill as a tool's result; every refusal is the same, whatever the path was. */
export async function readSkillResource(
  { turns }: { readonly turns: SkillTurns },
  skill: Skill,
  { path, part }: { readonly path: string; readonly part: number },
  { turn, signal }: ToolCall,
): Promise<ToolResult> {
  const resource = await readResource(skill.realDirectory, path, { part, signal });
  if (resource.kind === 'refused') return noResource(skill);
  turns.record(turn, { skillId: skill.id, state: 'resource_read', path: resource.path });
  const title = `Resource ${printableLine(resource.path)} of ${printableLine(skill.id)} read`;
  const options = { title, path: resource.path };
  if (resource.kind === 'binary') {
    return skillResult(
      `Binary file ${printableLine(resource.path)}: ${resource.type}, ${resource.size} bytes, sha256 ${resource.sha256}. Its content is not shown.`,
      skill,
      options,
    );
  }
  if (resource.parts === 1) return skillResult(resource.text, skill, options);
  const next = resource.part < resource.parts ? `; the next is part=${resource.part + 1}` : '; this is the last';
  return skillResult(`[${printableLine(resource.path)}, part ${resource.part}/${resource.parts}${next}]\n${resource.text}`, skill, options);
}

/** The same words for every path, so that nobody learns whether something is there. */
export function noResource({ id }: Skill): ToolResult {
  return skillError(
    'resource_not_found',
    `That is not a readable resource of skill '${printableLine(id)}'. read_skill lists its resource files.`,
  );
}
