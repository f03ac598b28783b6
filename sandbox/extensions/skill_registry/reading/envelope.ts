import { printableLine } from '@pith/plain-text';
import { clean, type ResourceList } from '@pith/skill-files';
import { countTokens } from '@pith/token-count';
import type { Skill } from '../skill.ts';

export interface EnvelopeInput {
  readonly skill: Skill;
  readonly sha256: string;
  /** The part's text, byte for byte. */
  readonly text: string;
  readonly part: number;
  readonly parts: number;
  readonly resources: ResourceList;
  /** What must be said before the body: that it changed, or that it is an earlier version. */
  readonly notes: readonly string[];
}

/** A skill's body as a model is given it: what it is, the text, its files, and an end that the text cannot imitate. */
export function renderEnvelope({ skill, sha256, text, part, parts, resources, notes }: EnvelopeInput): string {
  const id = printableLine(skill.id);
  return [
    `[Skill: ${id}]`,
    ...(skill.name === skill.id ? [] : [`name: ${clean(skill.name)}`]),
    `version: ${skill.version === null ? 'none' : clean(skill.version)}`,
    `sha256: ${sha256}`,
    `source: ${clean(skill.source)}`,
    `base directory: ${printableLine(skill.directory)}`,
    `size: approx. ${parts === 1 ? countTokens(text) : skill.tokens} tokens`,
    ...(skill.allowedTools === null ? [] : [`allowed tools (advice): ${skill.allowedTools.map(clean).join(', ') || 'none'}`]),
    ...(skill.requires.length === 0
      ? []
      : [`This skill requires: ${skill.requires.map(clean).join(', ')}. Load it first if you haven't already.`]),
    ...(parts === 1 ? [] : [partLine(id, part, parts)]),
    ...notes,
    '',
    `<skill id="${escapeAttribute(id)}" sha256="${sha256}">`,
    text,
    endOf(text, sha256),
    '',
    ...resourceLines(resources),
    ...(part < parts ? [partLine(id, part, parts)] : []),
    `[End of skill: ${id}, sha256 ${sha256.slice(0, 12)}${parts === 1 ? '' : `, part ${part}/${parts}`}]`,
  ].join('\n');
}

/** What a second read of the same content in one thread returns. */
export function renderPointer(id: string, sha256: string, part: number, parts: number): string {
  const which = parts === 1 ? '' : ` part ${part}/${parts}`;
  return `Skill \`${clean(id)}\`${which} is already loaded above, sha256 ${sha256}, and unchanged: follow what was read there.`;
}

/** A text that writes an end itself is ended by its own hash, which no text can hold. */
function endOf(text: string, sha256: string): string {
  return /<\/skill/i.test(text) ? `</skill sha256="${sha256}">` : '</skill>';
}

/** A name that neither begins a line nor ends an element. */
export function nameOf(path: string): string {
  return printableLine(path).replaceAll('<', '\\x3c');
}

function escapeAttribute(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

function partLine(id: string, part: number, parts: number): string {
  const next = part < parts ? `; the next is read_skill(skill_id="${id}", part=${part + 1})` : '; this is the last';
  return `part ${part}/${parts}${next}`;
}

/** How many files the list leaves out, such as `3 or more more`; null where it has all. */
export function unlistedFiles({ entries, total, more }: ResourceList): string | null {
  const left = total - entries.length;
  return left > 0 || more ? `${left}${more ? ' or more' : ''} more` : null;
}

function resourceLines(resources: ResourceList): readonly string[] {
  if (resources.total === 0) return [];
  const unlisted = unlistedFiles(resources);
  return [
    'Resource files, read with read_skill_resource(skill_id, path):',
    ...resources.entries.map(({ path, size }) => `- ${nameOf(path)} (${size} bytes)`),
    ...(unlisted === null ? [] : [`… and ${unlisted} files`]),
  ];
}
