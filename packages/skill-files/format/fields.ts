import { isPlainMap } from '@pith/plain-data';
import { textOf, type Fields } from './finding.ts';
import { isTexts } from './checks.ts';
import { OUR_FIELDS } from './rules.ts';

/** The fields that the registry keeps of a frontmatter. */
export interface SkillFields {
  /** The frontmatter's `name`, else the id. */
  readonly name: string;
  readonly description: string;
  readonly brief: string | null;
  readonly version: string | null;
  readonly tags: readonly string[];
  readonly requires: readonly string[];
  readonly examples: readonly string[];
  /** null: the field is absent, which allows every tool. A present field allows what it names, if empty then nothing. */
  readonly allowedTools: readonly string[] | null;
  readonly toolsets: readonly string[];
  readonly scripts: readonly SkillScript[];
  readonly defaultEnabled: boolean;
  /** null for a skill without triggers. */
  readonly triggers: SkillTriggers | null;
  /** All other frontmatter keys, which are kept and shown. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** A manifest's entry for a script. A script can be run without one. */
export interface SkillScript {
  /** As written, relative to the skill's folder. */
  readonly path: string;
  readonly description: string | null;
  /** The environment variables that it requests. */
  readonly env: readonly string[];
  /** Its requested time limit, within that of the settings; null: none. */
  readonly timeoutSeconds: number | null;
}

/** What in a user's message selects the skill in the mode `triggers`. As written: the matcher folds case. */
export interface SkillTriggers {
  readonly keywords: readonly string[];
  /** In their base form. */
  readonly verbs: readonly string[];
  /** RE2; patterns that RE2 refuses or that are too large were dropped when the file was read. */
  readonly patterns: readonly string[];
}

const NONE: readonly string[] = Object.freeze([]);
const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});
const TAKEN: ReadonlySet<string> = new Set([...OUR_FIELDS, 'name', 'description', 'allowed-tools']);

/** The fields of a skill without frontmatter. */
export function emptyFields(id: string): SkillFields {
  return toFields(new Map(), id);
}

/** Accepts the fields in every form that people write. Copies every text, so that none keeps its file in memory. */
export function toFields(fields: Fields, id: string): SkillFields {
  const text = (key: string) => {
    const value = textOf(fields.get(key))?.trim();
    return value ? flat(value) : null;
  };
  return {
    name: text('name') ?? id,
    description: text('description') ?? '',
    brief: text('brief_description'),
    version: text('version') ?? metadataVersion(fields),
    tags: texts(fields, 'tags'),
    requires: texts(fields, 'requires'),
    examples: texts(fields, 'examples'),
    allowedTools: allowedTools(fields),
    toolsets: texts(fields, 'toolsets'),
    scripts: scripts(fields),
    defaultEnabled: fields.get('default_enabled')?.value !== false,
    triggers: triggers(fields),
    extra: extra(fields),
  };
}

function texts(fields: Fields, key: string): readonly string[] {
  const value = fields.get(key)?.value;
  if (isTexts(value)) return value.length === 0 ? NONE : value.map(flat);
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string' || typeof item === 'number').map(String);
  const text = textOf(fields.get(key));
  return text === null || isPlainMap(value) ? NONE : split(text, /,/);
}

/** A comma string, a space string or a list; commas and spaces within brackets do not separate. */
function allowedTools(fields: Fields): readonly string[] | null {
  const field = fields.get('allowed-tools');
  if (field === undefined) return null;
  if (Array.isArray(field.value)) return texts(fields, 'allowed-tools');
  const text = textOf(field);
  if (text === null || isPlainMap(field.value)) return NONE;
  const outside = text.replace(/\([^()]*\)/g, (inner) => '_'.repeat(inner.length));
  return split(text, outside.includes(',') ? /,/ : /\s/);
}

function split(text: string, separator: RegExp): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const character of text) {
    depth += character === '(' ? 1 : character === ')' ? -1 : 0;
    if (depth <= 0 && separator.test(character)) {
      parts.push(part.trim());
      part = '';
    } else part += character;
  }
  parts.push(part.trim());
  return parts.filter((item) => item !== '').map(flat);
}

function scripts(fields: Fields): readonly SkillScript[] {
  const value = fields.get('scripts')?.value;
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown): SkillScript | [] => {
    const { path, description, env, timeout_s: seconds } = isPlainMap(item) ? item : { path: item };
    if (typeof path !== 'string') return [];
    return {
      path: flat(path),
      description: typeof description === 'string' ? flat(description) : null,
      env: isTexts(env) ? env.map(flat) : NONE,
      timeoutSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : null,
    };
  });
}

function triggers(fields: Fields): SkillTriggers | null {
  const value = fields.get('triggers')?.value;
  if (!isPlainMap(value)) return null;
  const list = (key: string) => {
    const given = Object.hasOwn(value, key) ? value[key] : null;
    const items = typeof given === 'string' ? (key === 'patterns' ? [given] : split(given, /,/)) : isTexts(given) ? given : NONE;
    return items.map((item) => flat(item.trim())).filter((item) => item !== '');
  };
  const [keywords, verbs, patterns] = [list('keywords'), list('verbs'), list('patterns')];
  return keywords.length + verbs.length + patterns.length === 0 ? null : { keywords, verbs, patterns };
}

function metadataVersion(fields: Fields): string | null {
  const metadata = fields.get('metadata')?.value;
  const version = isPlainMap(metadata) && Object.hasOwn(metadata, 'version') ? metadata['version'] : null;
  return typeof version === 'string' && version.trim() !== '' ? flat(version.trim()) : null;
}

function extra(fields: Fields): Readonly<Record<string, unknown>> {
  const entries = [...fields].filter(([key]) => !TAKEN.has(key));
  if (entries.length === 0) return NOTHING;
  // Through JSON, because the index stores it that way, and because that copies every text.
  return JSON.parse(JSON.stringify(Object.fromEntries(entries.map(([key, field]) => [key, field.value])))) as Record<string, unknown>;
}

/** A copy that shares no memory with its source: V8 keeps the whole file for a slice of 13 characters or more. */
function flat(text: string): string {
  return text.length < 13 ? text : ` ${text}`.slice(1);
}
