import { type CommandIO, type Diagnostic, type JsonValue, PithError } from 'pith';
import { counted, enumerated, printableLine, sizeText, withCure } from '@pith/plain-text';
import { clean, diagnosticJson } from '@pith/skill-files';
import type { StagedItem, StagedSkill } from './staged-skill.ts';

/** What somebody decided of each: false where they said no, the error where nobody may decide it. */
export type Decisions = ReadonlyMap<StagedItem, boolean | PithError>;

interface Asking {
  readonly io: CommandIO;
  /** They said `--yes`: what is of no severity high is not asked for. */
  readonly yes: boolean;
  /** Asks for one thing by its name, or for several by their number. */
  question(what: string): string;
}

/** A person on a terminal is asked, once for all in which nothing is of severity high, and for each of the others. Where nobody can answer the first go on, and the others are `scan_blocked`. */
export async function decisions(items: readonly StagedItem[], { io, yes, question }: Asking): Promise<Decisions> {
  const decided = new Map<StagedItem, boolean | PithError>();
  const asks = async (text: string, serious: readonly string[] = []) => (await io.ask(text, { choices: ['yes', 'no'], serious })) === 'yes';
  const clean = items.filter((item) => !isSerious(item));
  const agreed = clean.length === 0 || yes || !io.interactive || (await asks(question(countOf(clean))));
  for (const item of clean) decided.set(item, agreed);
  for (const item of items.filter(isSerious)) {
    if (!io.interactive) decided.set(item, blocked(item));
    else decided.set(item, agreed && (await asks(`${question(`'${item.id}'`)} ${seriousText(item)}`, seriousLines(item))));
  }
  return decided;
}

/** The one by its name, several by how many there are of each kind. */
export function countOf(items: readonly StagedItem[]): string {
  if (items.length === 1) return `'${items[0]!.id}'`;
  const kinds = (['skill', 'recipe', 'agent'] as const).map((kind) => [kind, items.filter((item) => item.kind === kind).length] as const);
  const counts = kinds.filter(([, count]) => count > 0).map(([kind, count]) => counted(count, kind));
  return enumerated(counts);
}

function isSerious({ inspection }: StagedItem): boolean {
  return inspection.findings.some(({ severity }) => severity === 'high');
}

function blocked({ id, inspection }: StagedItem): PithError {
  const { file, line, message } = inspection.findings[0]!;
  return new PithError('scan_blocked', `the scan found something serious in '${printableLine(id)}': ${printableLine(message)}`, {
    where: printableLine(`${file}:${line}`),
    cure: 'look at the findings and answer on a terminal, or copy the folder by hand',
  });
}

function seriousLines({ inspection: { findings } }: StagedItem): readonly string[] {
  const serious = findings.filter(({ severity }) => severity === 'high').slice(0, SHOWN_FINDINGS);
  return serious.map(({ file, line, message }) => printableLine(`${file}:${line}: ${message}`));
}

/** The worst finding, which is far above by now, and how many more are as bad. */
function seriousText({ inspection: { findings } }: StagedItem): string {
  const serious = findings.filter(({ severity }) => severity === 'high');
  const { file, line, message } = serious[0]!;
  const more = serious.length === 1 ? '' : ` (and ${serious.length - 1} more)`;
  return printableLine(`The scan found something serious: ${file}:${line}: ${message}${more}`);
}

const SHOWN_FILES = 12;
const SHOWN_FINDINGS = 20;

/** What a person sees before it is installed. */
export function printPreview(skill: StagedItem, place: string, io: CommandIO): void {
  const { inspection } = skill;
  const files = inspection.files.map(({ path }) => path);
  const more = files.length > SHOWN_FILES ? `, and ${files.length - SHOWN_FILES} more` : '';
  io.print(`${skill.kind === 'skill' ? '' : `${skill.kind} `}${clean(skill.id)}: ${clean(skill.description)}`);
  const row = (name: string, text: string) => io.print(`  ${name.padEnd(9)} ${clean(text)}`);
  row('into', place);
  if (skill.hides !== undefined) row('hides', `the skill of this id in ${skill.hides}`);
  row('files', `${files.length} (${sizeText(skill.bytes)}): ${files.slice(0, SHOWN_FILES).join(', ')}${more}`);
  if (inspection.scripts.length > 0) row('scripts', inspection.scripts.join(', '));
  if (inspection.toolsets.length > 0) row('toolsets', inspection.toolsets.join(', '));
  for (const { severity, code, file, line, message } of inspection.findings.slice(0, SHOWN_FINDINGS))
    row(severity, `${file}:${line}: ${message} (${code})`);
  if (inspection.findings.length > SHOWN_FINDINGS) row('', `and ${inspection.findings.length - SHOWN_FINDINGS} more findings`);
  for (const one of skill.diagnostics) row(one.severity, textOf(one));
}

/** The same as `--json` has it. */
export function previewJson(skill: StagedItem, place: string): { [key: string]: JsonValue } {
  const { kind, id, description, hides, bytes, inspection, diagnostics } = skill;
  return {
    kind,
    id,
    description,
    path: place,
    ...(hides === undefined ? {} : { hides }),
    bytes,
    ...(isSkill(skill) ? { digest: skill.digest, valid: skill.valid } : {}),
    files: inspection.files.map(({ path, size }) => ({ path, size })),
    scripts: inspection.scripts,
    toolsets: inspection.toolsets,
    findings: inspection.findings.map((finding) => ({ ...finding })),
    diagnostics: diagnostics.map(diagnosticJson),
  };
}

export function isSkill(item: StagedItem): item is StagedSkill {
  return item.kind === 'skill';
}

function textOf({ message, file, line, column, cure }: Diagnostic): string {
  return withCure(`${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}`, cure);
}
