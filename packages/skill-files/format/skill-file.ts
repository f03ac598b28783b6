import { withSafeguards } from './checks.ts';
import { emptyFields, toFields, type SkillFields } from './fields.ts';
import type { Field, Finding } from './finding.ts';
import { splitFrontmatter } from './frontmatter.ts';
import { refusedPatterns } from './patterns.ts';
import type { readRepaired } from './repair.ts';
import { RULE, RULES, type Severity } from './rules.ts';
import { readSimple } from './simple.ts';
import { opening } from './opening.ts';
import { NO_REGULAR_FILE } from '../reading/regular-file.ts';

/** `lint` checks a file against the specification; `load` accepts all that can be understood. Both are columns of one rule table. */
export type Mode = 'lint' | 'load';

export interface SkillFile {
  /** The directory's name. */
  readonly id: string;
  /** Absolute path of the file; its last part is checked too. */
  readonly file: string;
  readonly mode: Mode;
  /** The size of the whole file in bytes, where only its start is given. */
  readonly size?: number;
}

/** A finding as people see it. */
export interface Diagnostic {
  readonly severity: Severity;
  readonly code: string;
  readonly message: string;
  readonly file?: string;
  /** From 1, like the column. */
  readonly line?: number;
  readonly column?: number;
  readonly cure?: string;
}

export interface ParsedSkill {
  /** False when a finding is an error in this mode. */
  readonly valid: boolean;
  readonly fields: SkillFields;
  /** Estimated from the size. */
  readonly tokens: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** The part that imports YAML. A scan loads it only when a file needs it. */
export type Repairing = typeof readRepaired;

/** Parses one SKILL.md of any content. Never rejects. */
export async function parseSkillFile(content: Uint8Array | string, file: SkillFile): Promise<ParsedSkill> {
  const { text, findings } = decode(content);
  const size = file.size ?? (typeof content === 'string' ? Buffer.byteLength(content) : content.length);
  const parsed =
    parseHead(text, { ...file, size }, null, findings) ??
    (parseHead(text, { ...file, size }, await loadRepairing(), findings) as ParsedSkill);
  return withPatternsChecked(parsed, text, file);
}

/** Drops the trigger patterns that cannot be used, each with a diagnostic. Costs nothing for a skill without patterns. */
export async function withPatternsChecked(parsed: ParsedSkill, text: string, file: SkillFile): Promise<ParsedSkill> {
  const { triggers } = parsed.fields;
  if (triggers === null || triggers.patterns.length === 0) return parsed;
  const refused = await refusedPatterns(triggers.patterns, text);
  if (refused.size === 0) return parsed;
  let diagnostics: Diagnostic[] | null = [...parsed.diagnostics];
  for (const finding of refused.values()) if (finding !== null) diagnostics = add(diagnostics, finding, file);
  const patterns = triggers.patterns.filter((pattern) => !refused.has(pattern));
  const fields = { ...parsed.fields, triggers: { ...triggers, patterns } };
  return { ...parsed, valid: isValid(diagnostics), fields, diagnostics: diagnostics ?? NONE };
}

export async function loadRepairing(): Promise<Repairing> {
  return (await import('./repair.ts')).readRepaired;
}

/** Parses the start of a file. null when YAML is needed and `repairing` was not given. */
export function parseHead(
  text: string,
  file: SkillFile & { readonly size: number },
  repairing: Repairing | null,
  findings: readonly Finding[] = NONE,
): ParsedSkill | null {
  const split = splitFrontmatter(text, Buffer.byteLength(text) >= file.size);
  if ('code' in split) return invalid(file, split.code === 'encoding_utf16' ? [split] : [...findings, split]);
  const missing = split.findings.find(({ code }) => code === 'frontmatter_missing');
  if (missing && file.mode === 'lint') return invalid(file, [missing]);
  let fields = missing ? new Map<string, Field>() : readSimple(split.head, split.firstLine);
  let found: readonly Finding[] = split.findings.length === 0 ? findings : [...findings, ...split.findings];
  // A scan has text, not bytes: bytes that cannot be decoded have become the replacement character.
  if (split.head.includes('\uFFFD') && !found.some(({ code }) => code === 'encoding_invalid')) found = [...found, encodingInvalid(text)];
  if (fields === null) {
    if (repairing === null) return null;
    const reading = repairing(split.head, split.firstLine);
    if ('failure' in reading) return invalid(file, [...found, reading.failure]);
    fields = reading.fields;
    if (reading.findings.length > 0) found = [...found, ...reading.findings];
  }
  if (file.mode === 'lint' || hasText(fields.get('description'))) return checked(withSafeguards(fields), file, found, split.bodyOffset);
  const { title, paragraph } = opening(text.slice(split.bodyOffset));
  if (missing && (paragraph === null || paragraph.includes('\0')))
    return invalid(file, [{ ...missing, code: 'frontmatter_and_text_missing' }]);
  if (paragraph === null) return checked(withSafeguards(fields), file, found, split.bodyOffset);
  const at = fields.get('description') ?? { line: 1, column: 1 };
  fields.set('description', { value: paragraph, line: at.line, column: at.column });
  const parsed = checked(withSafeguards(fields), file, [...found, { code: 'description_taken_from_text', detail: '' }], split.bodyOffset);
  return title === null || fields.has('name') ? parsed : { ...parsed, fields: { ...parsed.fields, name: title } };
}

/** A description of another type is invalid, not missing. */
function hasText(field: Field | undefined): boolean {
  return field !== undefined && field.value !== null && String(field.value).trim() !== '';
}

/** The result for a file that could not be read at all. */
export function unreadable(file: SkillFile, why: string): ParsedSkill {
  const code = why === NO_REGULAR_FILE ? 'file_not_regular' : 'file_unreadable';
  return invalid({ ...file, size: 0 }, [{ code, detail: why }]);
}

const NONE: readonly never[] = Object.freeze([]);

function checked(
  fields: Map<string, Field>,
  file: SkillFile & { readonly size: number },
  findings: readonly Finding[],
  bodyOffset: number,
): ParsedSkill {
  const fileName = file.file.slice(file.file.lastIndexOf('/') + 1);
  const tokens = Math.ceil(Math.max(0, file.size - bodyOffset) / 4);
  const facts = { id: file.id, fileName, fields, size: file.size, bodyTokens: tokens };
  let diagnostics: Diagnostic[] | null = null;
  for (const finding of findings) diagnostics = add(diagnostics, finding, file);
  for (const rule of RULES) {
    if (rule.check === undefined || rule[file.mode] === null) continue;
    for (const hit of rule.check(facts)) diagnostics = add(diagnostics, { code: rule.code, ...hit }, file);
  }
  return { valid: isValid(diagnostics), fields: toFields(fields, file.id), tokens, diagnostics: diagnostics ?? NONE };
}

function invalid(file: SkillFile & { readonly size: number }, findings: readonly Finding[]): ParsedSkill {
  let diagnostics: Diagnostic[] | null = null;
  for (const finding of findings) diagnostics = add(diagnostics, finding, file);
  return { valid: false, fields: emptyFields(file.id), tokens: Math.ceil(file.size / 4), diagnostics: diagnostics ?? NONE };
}

function add(diagnostics: Diagnostic[] | null, finding: Finding, { file, mode, id }: SkillFile): Diagnostic[] | null {
  const { code, detail, line, column } = finding;
  const rule = RULE.get(code);
  const severity = rule === undefined ? 'error' : rule[mode];
  if (severity === null) return diagnostics;
  const diagnostic: Diagnostic = {
    severity,
    code,
    message: rule?.message(detail) ?? detail,
    file,
    line: line ?? 1,
    column: column ?? 1,
    cure: typeof rule?.cure === 'function' ? rule.cure(finding, id) : rule?.cure,
  };
  if (diagnostics === null) return [diagnostic];
  diagnostics.push(diagnostic);
  return diagnostics;
}

function isValid(diagnostics: readonly Diagnostic[] | null): boolean {
  return diagnostics === null || !diagnostics.some((diagnostic) => diagnostic.severity === 'error');
}

function decode(content: Uint8Array | string): { text: string; findings: readonly Finding[] } {
  if (typeof content === 'string') return { text: content, findings: NONE };
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
  const broken = text.includes('\uFFFD') && !isUtf8(content);
  return { text, findings: broken ? [encodingInvalid(text)] : NONE };
}

function encodingInvalid(text: string): Finding {
  const before = text.slice(0, text.indexOf('\uFFFD'));
  return { code: 'encoding_invalid', detail: '', line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
}

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content);
    return true;
  } catch {
    return false; // the decoder throws for invalid bytes
  }
}
