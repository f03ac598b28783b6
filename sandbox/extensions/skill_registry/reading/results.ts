import { toolError, toolResult, type ToolResult } from 'pith';
import type { Skill } from '../skill.ts';

/** What channels get of a result about one skill. */
type SkillMetadata = {
  readonly skill_id: string;
  readonly skill_name: string;
  readonly directory: string;
  readonly path?: string;
  readonly to?: string;
};

export function skillResult(
  output: string,
  skill: Skill,
  options: {
    readonly title: string;
    readonly path?: string;
    readonly to?: string;
    readonly retain?: NonNullable<Extract<ToolResult, { ok: true }>['retain']>;
  },
): ToolResult {
  const { title, path, to, retain } = options;
  const metadata: SkillMetadata = {
    skill_id: skill.id,
    skill_name: skill.name,
    directory: skill.directory,
    ...(path === undefined ? {} : { path }),
    ...(to === undefined ? {} : { to }),
  };
  return toolResult(output, { title, metadata, ...(retain === undefined ? {} : { retain }) });
}

export function skillError(code: string, message: string): ToolResult {
  return toolError(code, message, { title: `Error: ${message}` });
}

/** A skill whose files are not what a person looked at. */
export function noLongerTrusted({ id }: Pick<Skill, 'id'>): ToolResult {
  return skillError(
    'skill_not_offered',
    `Skill '${id}' changed since a person trusted it; a person must look at it first: pith skills trust.`,
  );
}
