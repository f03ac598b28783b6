import fs from 'node:fs';
import type { z } from 'zod';
import { codeOf, type Diagnostic } from '../../contract/index.ts';
import { nearest, slipsOf } from '@pith/plain-text';
import { isPlainMap, type PlainMap } from '../records/plain-data.ts';
import { readTextFile } from '../discovery/source-files.ts';
import type { Positions } from '@pith/checked-yaml';

/** A settings file as it was read: the values that are good, and what is wrong with the others. */
export interface SettingsRecord {
  readonly values: PlainMap;
  readonly positions: Positions;
  readonly diagnostics: readonly Diagnostic[];
  /** Nothing of it could be read. */
  readonly unread?: true;
  /** There is nothing in it, not even a comment: it may be half saved. */
  readonly empty?: true;
}

const MAX_SETTINGS_BYTES = 256 * 1024;

/** What holds instead of `approvals` that cannot be read: nobody knows what it was to keep, so everything asks. */
const ASK_ALWAYS = { approvals: { tools: ['*'] } };

/** Reads a settings file. null when there is none. Never rejects. */
export async function readSettingsFile(file: string): Promise<SettingsRecord | null> {
  try {
    return await parse(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error, ''))) return null; // a file stands where its folder would be, as with a home that is none
    const message = `cannot be read: ${(error as Error).message}`;
    const diagnostic: Diagnostic = {
      severity: 'error',
      code: 'settings_invalid',
      message,
      file,
      line: 1,
      column: 1,
      cure: 'correct the file; until then its settings are left out',
    };
    return { values: ASK_ALWAYS, positions: {}, diagnostics: [diagnostic], unread: true };
  }
}

/** As `readSettingsFile`, of a sandbox that nobody trusts: a link is not followed, and a file that cannot be read says nothing. */
export async function readForeignSettings(file: string): Promise<SettingsRecord | null> {
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  return parse(file).catch(() => null);
}

async function parse(file: string): Promise<SettingsRecord> {
  const text = readTextFile(file, MAX_SETTINGS_BYTES);
  if (text.trim() === '') return { values: {}, positions: {}, diagnostics: [], empty: true };
  const { issuesToDiagnostics, parseLeniently, parseYaml, saidIgnored } = await import('@pith/checked-yaml');
  const document = await parseYaml(text, { file, code: 'settings_invalid', maxBytes: MAX_SETTINGS_BYTES });
  const isBroken = document.diagnostics.some(({ severity }) => severity === 'error');
  if (document.value === undefined || document.value === null)
    return isBroken
      ? { values: ASK_ALWAYS, positions: {}, diagnostics: document.diagnostics.map(asking), unread: true }
      : { values: {}, positions: {}, diagnostics: document.diagnostics };
  const { settingsSchema } = await import('./settings-schema.ts');
  const schema = settingsSchema();
  const { value, slips } = withBlocksMeant(withoutEmpty(document.value), Object.keys(schema.shape));
  const { rest, issues } = parseLeniently(schema, value);
  const positions = Object.fromEntries(
    Object.entries(document.positions).map(([dotted, position]) => {
      const [key = ''] = dotted.split('.', 1);
      return [`${slips.get(key) ?? key}${dotted.slice(key.length)}`, position];
    }),
  );
  const source = { file, positions, code: 'settings_invalid', value };
  const found = issues.flatMap((issue) =>
    issuesToDiagnostics([issue], schema, source)
      .map((each) => (each.code === 'unknown_key' || !isAboutApprovals(issue) ? saidIgnored(each) : each))
      .map((each) => (isAboutApprovals(issue) ? asking(each) : each)),
  );
  const misnamed = [...slips].flatMap(([key, meant]) => {
    const message = `'${key}' must be written '${meant}'; it counts as that`;
    const issue: z.core.$ZodIssue = { code: 'custom', path: [meant], message, input: undefined };
    return issuesToDiagnostics([issue], schema, source).map((each) => ({ ...each, message }));
  });
  const ofText = isBroken ? document.diagnostics.map(asking) : document.diagnostics;
  const diagnostics = [...ofText, ...misnamed, ...found].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const values = isPlainMap(rest) ? rest : {};
  const asks = isBroken || !isPlainMap(rest) || issues.some(isAboutApprovals);
  return { values: asks ? { ...values, ...ASK_ALWAYS } : values, positions, diagnostics };
}

/** Blocks that hold what switches skills and extensions off. */
const SAFEGUARDED: readonly string[] = ['skills', 'extensions'];
const MOST_WRONG = 2;

/** What has a name close to that of such a block counts as that, where that is not there. */
function withBlocksMeant(value: unknown, known: readonly string[]): { value: unknown; slips: ReadonlyMap<string, string> } {
  const slips = new Map<string, string>();
  if (!isPlainMap(value)) return { value, slips };
  for (const key of Object.keys(value)) {
    const [meant = ''] = known.includes(key) ? [] : slipsOf(key, known, MOST_WRONG);
    const isTaken = meant in value || [...slips.values()].includes(meant);
    if (SAFEGUARDED.includes(meant) && !isTaken) slips.set(key, meant);
  }
  return { value: Object.fromEntries(Object.entries(value).map(([key, part]) => [slips.get(key) ?? key, part])), slips };
}

/** A finding for which nobody knows what `approvals` were. */
function asking(finding: Diagnostic): Diagnostic {
  if (finding.severity !== 'error') return finding;
  return { ...finding, cure: `${finding.cure ?? 'correct it'}; until then every tool asks before it runs` };
}

/** Whether an issue may be about what was to be approved: `approvals` itself, what is below it, a slip in its name. */
function isAboutApprovals(issue: z.core.$ZodIssue): boolean {
  const [key] = issue.path;
  const keys = key !== undefined ? [key] : issue.code === 'unrecognized_keys' ? issue.keys : null;
  return keys === null || keys.some((each) => nearest(String(each), ['approvals']).length > 0);
}

/** A key with nothing behind it, as a sample whose values are comments has, says nothing. */
function withoutEmpty(value: unknown): unknown {
  if (!isPlainMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([key, part]) => [key, withoutEmpty(part)]),
  );
}
