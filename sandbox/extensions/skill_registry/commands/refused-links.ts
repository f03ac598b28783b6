import path from 'node:path';
import type { Diagnostic, JsonValue } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { idOf } from '../scan/names.ts';
import { LINK_REFUSED } from '../scan/scan-findings.ts';
import type { Snapshot } from '../skill.ts';
import { diagnosticJson } from './rows.ts';

/** A link in a source that is not followed: whatever it leads to is no skill here. */
export interface RefusedLink {
  readonly id: string;
  /** The source's label. */
  readonly source: string;
  readonly finding: Diagnostic;
}

export function refusedLinks({ sources }: SkillRegistry, { diagnostics }: Snapshot): readonly RefusedLink[] {
  return diagnostics.flatMap((finding) => {
    const { code, file = '' } = finding;
    const source = code === LINK_REFUSED ? sources.find(({ directory }) => file.startsWith(`${directory}/`)) : undefined;
    return source === undefined ? [] : [{ id: idOf(file), source: source.label, finding }];
  });
}

/** As `skills list --all --json` has it beside the skills. */
export function refusedJson({ id, source, finding }: RefusedLink): JsonValue {
  const { file = '', message } = finding;
  return {
    id,
    name: id,
    description: '',
    source,
    path: path.join(file, 'SKILL.md'),
    state: 'invalid',
    tokens: 0,
    reason: `refused: ${message}`,
    diagnostics: [diagnosticJson(finding)],
  };
}
