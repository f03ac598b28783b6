import path from 'node:path';
import type { JsonValue } from 'pith';

export interface SkillText {
  readonly body: string;
  /** Where it was found, by the name that the envelope gives the place; null where it names none, or a path of this machine. */
  readonly source: string | null;
}

/** Reads the result of `read_skill` or `skill`; null when it only points to an earlier result. */
export function parseSkillText(output: JsonValue): SkillText | null {
  const text = textOf(output);
  if (text.length < 1_500 && /already loaded above|is already active/i.test(text)) return null;
  return { body: bodyOf(text), source: sourceOf(text) };
}

/** A skill whose whole text came with a message. */
export function skillBeside(part: string): { readonly id: string; readonly text: SkillText } | null {
  const id = /^\[Skill: ([^\]\n]+)\]$/m.exec(part.slice(0, 500))?.[1];
  return id === undefined || !part.includes('<skill ') ? null : { id, text: { body: bodyOf(part), source: sourceOf(part) } };
}

function textOf(output: JsonValue): string {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map((part: JsonValue) => textOf(part)).join('\n');
  if (typeof output !== 'object' || output === null) return '';
  const record = output as { readonly [key: string]: JsonValue | undefined };
  for (const key of ['body', 'content', 'text', 'instructions']) {
    const part = record[key];
    if (typeof part !== 'string') continue;
    const { source } = record;
    return typeof source === 'string' ? `source: ${source}\n\n${part}` : part;
  }
  return '';
}

/** The text inside `<skill …> … </skill>`, else all but the lines of keys at the top and an end marker. */
function bodyOf(text: string): string {
  const instructions = /^# Skill: [^\n]*\n[\s\S]*?\n## Instructions\n/.exec(text);
  if (instructions !== null) return text.slice(instructions[0].length).trim();
  const opening = /<skill\b[^>]*>\r?\n?/.exec(text);
  const hash = / sha256="[^"]*"/.exec(opening?.[0] ?? '')?.[0]; // a text that contains `</skill>` itself ends where its hash is named
  const own = hash === undefined ? -1 : text.lastIndexOf(`</skill${hash}>`);
  const end = own >= 0 ? own : text.lastIndexOf('</skill>');
  const inner = opening !== null && end > opening.index ? text.slice(opening.index + opening[0].length, end) : text;
  const lines = inner.split('\n');
  const firstBlank = lines.findIndex((line) => line.trim() === '');
  const head = firstBlank < 0 ? [] : lines.slice(0, firstBlank);
  const keys = head.filter((line) => /^[\w .-]{2,24}: \S/.test(line)).length;
  const body = keys > 0 && keys >= head.length / 2 ? lines.slice(firstBlank + 1) : lines;
  const marker = body.findLastIndex((line) => /^\W*end of (?:the )?(?:skill|part)\b/i.test(line));
  return (marker < 0 ? body : body.slice(0, marker)).join('\n').trim();
}

function sourceOf(text: string): string | null {
  const found = /^source: (.+)$/m.exec(text.slice(0, 2_000).split('<skill ')[0] ?? '')?.[1];
  return found === undefined || path.isAbsolute(found) ? null : found;
}
