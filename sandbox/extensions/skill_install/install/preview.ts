import { type CommandIO, type Diagnostic, type JsonValue, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { clean, diagnosticJson } from '@pith/skill-files';
import type { StagedSkill } from './staged-skill.ts';

/**
 * Whether to go on. A person on a terminal is asked, unless they said `--yes` and nothing is of severity high; where nobody can
 * answer it goes on. Throws `scan_blocked` where nobody can answer and something is of severity high.
 */
export async function consent(question: string, skills: readonly StagedSkill[], io: CommandIO, yes: boolean): Promise<boolean> {
  const flagged = skills.filter(({ inspection }) => inspection.findings.some(({ severity }) => severity === 'high'));
  if (yes && flagged.length === 0) return true;
  if (io.interactive)
    return (
      (await io.ask(flagged.length > 0 ? `${question} The scan found something serious.` : question, { choices: ['yes', 'no'] })) === 'yes'
    );
  if (flagged.length === 0) return true;
  const finding = flagged[0]!.inspection.findings[0]!;
  throw new PithError(
    'scan_blocked',
    `the scan found something serious in '${printableLine(flagged[0]!.id)}': ${printableLine(finding.message)}`,
    {
      where: printableLine(`${finding.file}:${finding.line}`),
      cure: 'look at the findings and answer on a terminal, or copy the folder by hand',
    },
  );
}

const SHOWN_FILES = 12;
const SHOWN_FINDINGS = 20;

/** What a person sees of a skill before it is installed. */
export function printPreview(skill: StagedSkill, place: string, io: CommandIO): void {
  const { inspection } = skill;
  const files = inspection.files.map(({ path }) => path);
  const more = files.length > SHOWN_FILES ? `, and ${files.length - SHOWN_FILES} more` : '';
  io.print(`${clean(skill.id)}: ${clean(skill.description)}`);
  const row = (name: string, text: string) => io.print(`  ${name.padEnd(9)} ${clean(text)}`);
  row('into', place);
  row('files', `${files.length} (${sizeText(skill.bytes)}): ${files.slice(0, SHOWN_FILES).join(', ')}${more}`);
  if (inspection.scripts.length > 0) row('scripts', inspection.scripts.join(', '));
  if (inspection.toolsets.length > 0) row('toolsets', inspection.toolsets.join(', '));
  for (const { severity, code, file, line, message } of inspection.findings.slice(0, SHOWN_FINDINGS))
    row(severity, `${file}:${line}: ${message} (${code})`);
  if (inspection.findings.length > SHOWN_FINDINGS) row('', `and ${inspection.findings.length - SHOWN_FINDINGS} more findings`);
  for (const one of skill.diagnostics) row(one.severity, textOf(one));
}

/** The same as `--json` has it. */
export function previewJson(skill: StagedSkill, place: string): { [key: string]: JsonValue } {
  const { id, description, bytes, digest, valid, inspection, diagnostics } = skill;
  return {
    id,
    description,
    path: place,
    bytes,
    digest,
    valid,
    files: inspection.files.map(({ path, size }) => ({ path, size })),
    scripts: inspection.scripts,
    toolsets: inspection.toolsets,
    findings: inspection.findings.map((finding) => ({ ...finding })),
    diagnostics: diagnostics.map(diagnosticJson),
  };
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function textOf({ message, file, line, column, cure }: Diagnostic): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}${cure === undefined ? '' : `; ${cure}`}`;
}
