import { didYouMean } from '@pith/plain-text';
import fs from 'node:fs';
import path from 'node:path';
import type { Diagnostic } from '../contract/index.ts';
import { type Manifest, manifestSchema, RESERVED_IDS } from '../trust/index.ts';
import { isBelow, isPassing } from '@pith/safe-files';
import { KERNEL_AGENT_KEYS } from './agents.ts';
import { handledKey, MANIFEST_FILE, switchOf, type FolderReading } from './declaration.ts';
import { isPlainMap } from '@pith/plain-data';
import { slipsOf } from '@pith/plain-text';
import { asIgnored, issuesToDiagnostics, parseLeniently, parseYaml, pathText, positionOf, type Positions } from '@pith/checked-yaml';
import { readTextFile } from './source-files.ts';
import { localZone, nextCronTime } from '@pith/cron-times';

const MAX_MANIFEST_BYTES = 64 * 1024;

/** Reads `directory/manifest.yaml`. Whatever is wrong is in the diagnostics, and then the manifest is null. Rejects where the system cannot read it just now. */
export async function readManifestFile(directory: string): Promise<FolderReading> {
  const file = path.join(directory, MANIFEST_FILE);
  const text = readOr(file);
  if (typeof text !== 'string') return reading({ file, manifest: null, diagnostics: [text], positions: {} }, null);
  const document = await parseYaml(text, { file, code: 'manifest_invalid' });
  const owned = ownedKeysOf(document.value);
  const read = { file, positions: document.positions, ...(namesGuard(document.value) && { guard: 'named' as const }) };
  if (document.diagnostics.some(isError)) return reading({ ...read, manifest: null, diagnostics: document.diagnostics }, owned);

  const schema = manifestSchema();
  const { data: parsed, issues } = parseLeniently(schema, document.value ?? {});
  const data: Manifest | null = parsed && { ...parsed, enabled: switchOf(parsed.enabled, document.value) };
  const source = { file, positions: document.positions, code: 'manifest_invalid', value: document.value };
  const found = issuesToDiagnostics(issues, schema, source);
  const checks = data === null ? [] : checksOf(directory, file, data, document.positions);
  // Where what was left out is all that the folder is for, nothing remains that could do without it.
  const isEmpty = data?.entrypoint === undefined && data?.agent === undefined && issues.length > 0;
  const manifest = isEmpty || checks.some(isError) ? null : data;
  const diagnostics = [...document.diagnostics, ...(manifest === null ? found : found.map(asIgnored)), ...checks];
  return reading({ ...read, manifest, diagnostics }, owned);
}

/** Also where the rest is wrong: a slip must not make a guard none. */
function namesGuard(value: unknown): boolean {
  const provides = isPlainMap(value) ? [value['provides']].flat() : [];
  return provides.some((each) => each === 'guard' || (typeof each === 'string' && slipsOf(each, ['guard']).length > 0));
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity === 'error';
}

/** The text of `file`, or why it cannot be had. */
function readOr(file: string): string | Diagnostic {
  try {
    return readTextFile(file, MAX_MANIFEST_BYTES);
  } catch (error) {
    if (isPassing(error)) throw error;
    const why = error instanceof RangeError ? error.message : `cannot be read: ${(error as Error).message}`;
    return { severity: 'error', code: 'manifest_invalid', message: why, file, line: 1, column: 1 };
  }
}

function checksOf(directory: string, file: string, manifest: Manifest, positions: Positions): Diagnostic[] {
  const found: Diagnostic[] = [];
  const add = (key: string, code: string, message: string, cure: string) => {
    const place = positionOf(positions, key.split('.')) ?? { line: 1, column: 1 };
    found.push({ severity: 'error', code, message, file, line: place.line, column: place.column, cure });
  };
  const folder = path.basename(directory);
  if (manifest.id !== folder)
    add(
      'id',
      'id_mismatch',
      `the id '${manifest.id}' differs from the folder's name '${folder}'`,
      `write 'id: ${folder}' or rename the folder`,
    );
  if (RESERVED_IDS.includes(manifest.id))
    add(
      'id',
      'manifest_invalid',
      `the id '${manifest.id}' is reserved: 'pith/${manifest.id}' is Pith's own`,
      'rename the folder and the id',
    );
  if (manifest.entrypoint !== undefined && manifest.provides.length === 0 && handledKey(manifest) === undefined) {
    add(
      'entrypoint',
      'manifest_invalid',
      "'provides' is missing although there is an entrypoint",
      "Name what the class implements, such as 'provides: [tool]'",
    );
  }
  if (manifest.entrypoint === undefined && manifest.provides.length > 0) {
    add('provides', 'manifest_invalid', "'provides' needs an entrypoint", "Add 'entrypoint: main.ts' or remove 'provides'");
  }
  handlerChecks(manifest, add);
  const entries: [string, string | undefined][] = [['entrypoint', manifest.entrypoint]];
  manifest.commands.forEach((command, index) => entries.push([`commands.${index}.entry`, command.entry]));
  for (const [key, entry] of entries) {
    const problem = entry === undefined ? null : entryProblem(directory, entry);
    if (problem !== null)
      add(key, 'entrypoint_missing', `'${pathText([key])}' names '${entry}', which ${problem}`, 'name a file of this folder');
  }
  return found;
}

function entryProblem(directory: string, entry: string): string | null {
  const resolved = path.resolve(directory, entry);
  if (path.isAbsolute(entry) || path.relative(directory, resolved).startsWith('..')) return 'lies outside the folder';
  try {
    if (!fs.statSync(resolved).isFile()) return 'is not a file';
    return isBelow(fs.realpathSync(path.resolve(directory, entry)), fs.realpathSync(directory)) ? null : 'leads outside the folder';
  } catch {
    return 'does not exist'; // or cannot be reached, which is the same to whoever wrote the manifest
  }
}

function ownedKeysOf(value: unknown): readonly string[] | null {
  if (value === undefined) return null;
  const keys = isPlainMap(value) ? value['agent_keys'] : undefined;
  return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
}

function reading(declaration: FolderReading['declaration'], owned: readonly string[] | null): FolderReading {
  const agent = declaration.manifest?.agent ?? {};
  const extraAgentKeys = Object.keys(agent).filter((key) => !(KERNEL_AGENT_KEYS as readonly string[]).includes(key));
  return { declaration, extraAgentKeys, ownedAgentKeys: owned };
}

type Add = (key: string, code: string, message: string, cure: string) => void;

/** What is wrong with the times, handlers and jobs that a manifest names. */
function handlerChecks(manifest: Manifest, add: Add): void {
  const { schedules, jobs, entrypoint } = manifest;
  const key = handledKey(manifest);
  if (key !== undefined && entrypoint === undefined)
    add(key, 'manifest_invalid', `'${key}' needs an entrypoint`, `Add 'entrypoint: main.ts' or remove '${key}'`);
  jobs.forEach(({ name }, index) => {
    if (jobs.findIndex((each) => each.name === name) < index)
      add(`jobs.${index}.name`, 'manifest_invalid', `there are two jobs '${name}'`, 'rename one of them');
  });
  const names = new Set<string>();
  schedules.forEach(({ name, cron, handler, job }, index) => {
    if ((handler === undefined) === (job === undefined))
      add(`schedules.${index}`, 'manifest_invalid', `the schedule '${name}' must have either a handler or a job`, 'name one of the two');
    if (job !== undefined && !jobs.some((each) => each.name === job)) {
      const names = jobs.map((each) => each.name);
      add(`schedules.${index}.job`, 'manifest_invalid', `there is no job '${job}'${didYouMean(job, names)}`, "name one of 'jobs'");
    }
    const next = nextCronTime(cron, localZone(), 0); // as good as now: no field is a year
    if (typeof next !== 'number') add(`schedules.${index}.cron`, 'manifest_invalid', next.problem, next.cure);
    if (names.has(name)) add(`schedules.${index}.name`, 'manifest_invalid', `there are two schedules '${name}'`, 'rename one of them');
    names.add(name);
  });
}
