import type { JsonValue } from 'pith';
import { diagnosticJson } from '@pith/skill-files';
import { type Skill, summaryOf } from '../skill.ts';

/** One skill as `--json` prints it. */
export function skillJson(skill: Skill): { [key: string]: JsonValue } {
  return { ...summaryOf(skill), diagnostics: skill.diagnostics.map(diagnosticJson) };
}

/** `~` says that nobody has read the body yet. */
export function tokensText({ tokens, tokensEstimated }: Skill): string {
  return `${tokensEstimated ? '~' : ''}${tokens}`;
}
