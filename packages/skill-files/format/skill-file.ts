import { NO_REGULAR_FILE } from '@pith/safe-files';
import { withSafeguards } from './checks.ts';
import { emptyFields, toFields, type SkillFields } from './fields.ts';
import { type Field, type Finding, placeAt } from './finding.ts';
import { splitFrontmatter } from './frontmatter.ts';
import { refusedPatterns } from './patterns.ts';
import { RULE, RULES, type Severity } from './rules.ts';
import { readSimple } from './simple.ts';
import { opening } from './opening.ts';

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

/** Parses one SKILL.md of any content. Never rejects. */
export async function parseSkillFile(content: Uint8Array | string, file: SkillFile): Promise<ParsedSkill> {
  const { text, findings } = decode(content);
  const size = file.size ?? (typeof content === 'string' ? Buffer.byteLength(content) : content.length);
  return parseHead(text, { ...file, size }, findings);
}

/** Parses the start of a file. */
export async function parseHead(
  text: string,
  file: SkillFile & { readonly size: number },
  findings: readonly Finding[] = NONE,
): Promise<ParsedSkill> {
  return withPatternsChecked(await parsedHead(text, file, findings), text, file);
}

/** Drops the trigger patterns that cannot be used, each with a diagnostic. Costs nothing for a skill without patterns. */
async function withPatternsChecked(parsed: ParsedSkill, text: string, file: SkillFile): Promise<ParsedSkill> {
  const { triggers } = parsed.fields;
  if (triggers === null || triggers.patterns.length === 0) return parsed;
  const refused = await refusedPatterns(triggers.patterns, text);
  if (refused.size === 0) return parsed;
  const found = [...refused.values()].filter((finding) => finding !== null);
  const diagnostics = [...parsed.diagnostics, ...diagnosticsOf(found, file)];
  const patterns = triggers.patterns.filter((pattern) => !refused.has(pattern));
  const fields = { ...parsed.fields, triggers: { ...triggers, patterns } };
  return { ...parsed, valid: isValid(diagnostics), fields, diagnostics };
}

async function parsedHead(text: string, file: SkillFile & { readonly size: number }, findings: readonly Finding[]): Promise<ParsedSkill> {
  const split = splitFrontmatter(text, Buffer.byteLength(text) >= file.size);
  if ('code' in split) return invalid(file, split.code === 'encoding_utf16' ? [split] : [...findings, split]);
  const missing = split.findings.find(({ code }) => code === 'frontmatter_missing');
  if (missing && file.mode === 'lint') return invalid(file, [missing]);
  let fields = missing ? new Map<string, Field>() : readSimple(split.head, split.firstLine);
  let found: readonly Finding[] = split.findings.length === 0 ? findings : [...findings, ...split.findings];
  // A scan has text, not bytes: bytes that cannot be decoded have become the replacement character.
  if (split.head.includes('\uFFFD') && !found.some(({ code }) => code === 'encoding_invalid')) found = [...found, encodingInvalid(text)];
  if (fields === null) {
    const { readRepaired } = await import('./repair.ts'); // it loads the YAML parser, which most skills do not need
    const reading = readRepaired(split.head, split.firstLine);
    if ('failure' in reading) return invalid(file, [...found, reading.failure]);
    fields = reading.fields;
    if (reading.findings.length > 0) found = [...found, ...reading.findings];
  }
  if (hasText(fields.get('description'))) return checked(withSafeguards(fields), file, found, split.bodyOffset);
  const { title, paragraph } = opening(text.slice(split.bodyOffset));
  if (missing && (paragraph === null || paragraph.includes('\0')))
    return invalid(file, [{ ...missing, code: 'frontmatter_and_text_missing' }]);
  if (paragraph === null) return checked(withSafeguards(fields), file, found, split.bodyOffset);
  const at = fields.get('description') ?? { line: 1, column: 1 };
  fields.set('description', { value: paragraph, line: at.line, column: at.column });
  const parsed = checked(
    withSafeguards(fields),
    file,
    [...found, { code: 'description_taken_from_text', detail: '', line: at.line, column: at.column }],
    split.bodyOffset,
  );
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
  const hits: Finding[] = [...findings];
  for (const { check, code, [file.mode]: severity } of RULES)
    if (check !== undefined && severity !== null) for (const hit of check(facts)) hits.push({ code, ...hit });
  const diagnostics = diagnosticsOf(hits, file);
  return { valid: isValid(diagnostics), fields: toFields(fields, file.id), tokens, diagnostics };
}

function invalid(file: SkillFile & { readonly size: number }, findings: readonly Finding[]): ParsedSkill {
  return { valid: false, fields: emptyFields(file.id), tokens: Math.ceil(file.size / 4), diagnostics: diagnosticsOf(findings, file) };
}

function diagnosticsOf(findings: readonly Finding[], { file, mode, id }: SkillFile): readonly Diagnostic[] {
  return findings.flatMap((finding): Diagnostic | [] => {
    const { code, detail, line = 1, column = 1 } = finding;
    const rule = RULE.get(code)!;
    const severity = rule[mode];
    if (severity === null) return [];
    const cure = typeof rule.cure === 'function' ? rule.cure(finding, id) : rule.cure;
    return { severity, code, message: rule.message(detail), file, line, column, cure };
  });
}

function isValid(diagnostics: readonly Diagnostic[]): boolean {
  return !diagnostics.some(({ severity }) => severity === 'error');
}

function decode(content: Uint8Array | string): { text: string; findings: readonly Finding[] } {
  if (typeof content === 'string') return { text: content, findings: NONE };
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8');
  const broken = text.includes('\uFFFD') && !isUtf8(content);
  return { text, findings: broken ? [encodingInvalid(text)] : NONE };
}

function encodingInvalid(text: string): Finding {
  return { code: 'encoding_invalid', detail: '', ...placeAt(text, text.indexOf('\uFFFD')) };
}

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content);
    return true;
  } catch {
    return false; // the decoder throws for invalid bytes
  }
}
