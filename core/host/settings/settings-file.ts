import fs from 'node:fs';
import { codeOf } from '../../contract/errors.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { nearest } from '../../contract/nearest.ts';
import type { IndexFile } from '../discovery/index-file.ts';
import { isPlainMap, type PlainMap } from '../discovery/plain-data.ts';
import { stampFile } from '../discovery/source-stamp.ts';
import { readTextFile } from '../discovery/text-file.ts';
import type { Positions } from '../discovery/positions.ts';

/** A settings file as it was read: the values that are good, and what is wrong with the others. The persisted index keeps it. */
export interface SettingsRecord {
  readonly stamp: string;
  readonly fresh: boolean;
  readonly values: PlainMap;
  readonly positions: Positions;
  readonly diagnostics: readonly Diagnostic[];
}

export const MAX_SETTINGS_BYTES = 256 * 1024;

/** What holds instead of `approvals` that cannot be read: nobody knows what it was to keep, so everything asks. */
const ASK_ALWAYS = { approvals: { tools: ['*'] } };

/** Reads a settings file, from the index while it has not changed. null when there is none. Never rejects. */
export async function readSettingsFile(file: string, index: IndexFile): Promise<SettingsRecord | null> {
  try {
    const found = stampFile(file);
    if (found === null) return null;
    const known = index.settings(file);
    if (known !== undefined && known.stamp === found.stamp && !known.fresh) return known;
    const record = { ...found, ...(await parse(readTextFile(file, MAX_SETTINGS_BYTES), file)) };
    index.putSettings(file, record);
    return record;
  } catch (error) {
    if (codeOf(error, '') === 'ENOTDIR') return null; // a file stands where its folder would be, as with a home that is none
    const message = `cannot be read: ${(error as Error).message}`;
    const diagnostic: Diagnostic = {
      severity: 'error',
      code: 'settings_invalid',
      message,
      file,
      line: 1,
      column: 1,
      cure: 'Mend the file; until then its settings are left out',
    };
    return { stamp: '', fresh: true, values: ASK_ALWAYS, positions: {}, diagnostics: [diagnostic] };
  }
}

/** As `readSettingsFile`, of a sandbox that nobody trusts: a link is not followed, and a file that cannot be read says nothing. */
export async function readForeignSettings(file: string, index: IndexFile): Promise<SettingsRecord | null> {
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const record = await readSettingsFile(file, index);
  return record?.stamp === '' ? null : record;
}

async function parse(text: string, file: string): Promise<Omit<SettingsRecord, 'stamp' | 'fresh'>> {
  const { parseYaml } = await import('../discovery/yaml-document.ts');
  const document = parseYaml(text, { file, code: 'settings_invalid', maxBytes: MAX_SETTINGS_BYTES });
  const isBroken = document.diagnostics.some(({ severity }) => severity === 'error');
  if (document.value === undefined || document.value === null)
    return isBroken ? closed({}, {}, document.diagnostics) : { values: {}, positions: {}, diagnostics: document.diagnostics };
  const { issuesToDiagnostics } = await import('../discovery/schema-issues.ts');
  const { settingsSchema } = await import('./settings-schema.ts');
  const schema = settingsSchema();

  const diagnostics = [...document.diagnostics];
  let rest: unknown = withoutEmpty(document.value);
  let asks = isBroken || !isPlainMap(rest);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = schema.safeParse(rest);
    if (parsed.success) {
      const values = isPlainMap(rest) ? rest : {};
      return asks ? closed(values, document.positions, diagnostics) : { values, positions: document.positions, diagnostics };
    }
    const { issues } = parsed.error;
    diagnostics.push(
      ...issuesToDiagnostics(issues, schema, { file, positions: document.positions, code: 'settings_invalid', value: rest }),
    );
    for (const issue of issues) {
      const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
      for (const path of paths) {
        asks ||= isApprovals(path);
        rest = without(rest, path);
      }
    }
  }
  return closed({}, document.positions, diagnostics);
}

/** A record of settings whose `approvals` are not known. */
function closed(
  values: PlainMap,
  positions: Positions,
  [first, ...others]: readonly Diagnostic[],
): Omit<SettingsRecord, 'stamp' | 'fresh'> {
  const diagnostics =
    first === undefined ? [] : [{ ...first, cure: `${first.cure ?? 'Mend it'}; until then every tool asks before it runs` }];
  return { values: { ...values, ...ASK_ALWAYS }, positions, diagnostics: [...diagnostics, ...others] };
}

/** Whether what is wrong at `path` may be what was to be approved: `approvals` itself, what is below it, a slip in its name. */
function isApprovals([key]: readonly PropertyKey[]): boolean {
  return key === undefined || nearest(String(key), ['approvals']).length > 0;
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

/** Each round takes out all that zod names; a further one is needed only where that uncovers more. */
const MAX_ROUNDS = 10;

/** `value` without what stands at `path`; a list that would lose an item goes as a whole. */
function without(value: unknown, path: readonly PropertyKey[]): unknown {
  if (!isPlainMap(value) || path.length === 0) return undefined;
  const [key, ...below] = path as readonly [string, ...PropertyKey[]];
  const { [key]: inner, ...rest } = value;
  const kept = below.length === 0 ? undefined : without(inner, below);
  return kept === undefined ? rest : { ...rest, [key]: kept };
}
