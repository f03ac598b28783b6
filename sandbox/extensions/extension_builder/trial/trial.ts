import { fieldsOf, type PlainMap } from '@pith/plain-data';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { runProgram, type ConfinedPrograms } from '@pith/supervised-process';
import { stateFolder } from '@pith/safe-files';
import { PithError, z, type ExtensionContext, type Places } from 'pith';
import { yamlValue } from '@pith/guarded-yaml';
import type { KernelPort } from '../kernel-port.ts';
import { readSources, writeSources, type Source } from '../sources.ts';
import { runOwnTests } from './own-tests.ts';
import { AGENT } from './inside.ts';
import { trialReport, type TrialFinding, type TrialReport } from './report.ts';

const TIMEOUT_MS = 200_000;
const MAX_OUTPUT = 4 * 1024 * 1024;
/** This extension, whose command tries the other one in the trial. */
const BUILDER = 'extension_builder';

const dependencies = z.object({ depends_on: z.array(z.string()).catch([]), optional_depends_on: z.array(z.string()).catch([]) });

const definitions = z.object({ defines: z.record(z.string(), z.unknown()).nullable().catch(null) }).catch({ defines: null });

export interface TrialPorts {
  readonly kernel: KernelPort;
  readonly context: Pick<ExtensionContext, 'dataDirectory'>;
  readonly programs: () => ConfinedPrograms;
  readonly places: Places;
}

/**
 * Loads these files as an extension in their own sandbox, which a child process opens and which is removed afterwards: without the
 * project, its data, secrets, network and the events of others. Its services are not started. Rejects `not_found` without a manifest.
 */
export async function tryExtension(
  folder: string,
  sources: readonly Source[],
  { kernel, context, programs, places }: TrialPorts,
  signal: AbortSignal,
): Promise<TrialReport> {
  const manifest = sources.find(({ path }) => path === 'manifest.yaml');
  if (manifest === undefined)
    throw new PithError('not_found', `there is no extension in ${folder}: it has no manifest.yaml`, { cure: 'name its folder' });
  const id = basename(folder);
  if (id === BUILDER)
    throw new PithError('not_allowed', `'${id}' cannot try itself`, { cure: 'give the changed one another id while you work on it' });
  const trials = stateFolder(context.dataDirectory, 'trials');
  const name = randomUUID();
  const root = trials.folder(name).make();
  const sandbox = join(root, 'project', 'sandbox');
  const tried = join(sandbox, 'extensions', id);
  try {
    const trial = { id, manifest: String(manifest.bytes), root, sandbox, kernel, context, programs, places };
    await put(join(sandbox, 'agents', AGENT), 'manifest.yaml', { id: AGENT, agent: { uses_tools: [id] } });
    await runPith(['trust', '--yes', '--sandbox', sandbox], trial, signal); // before anything in it asks for something
    await writeSources(tried, sources);
    if (existsSync(join(folder, 'node_modules')))
      await cp(join(folder, 'node_modules'), join(tried, 'node_modules'), { recursive: true, verbatimSymlinks: true });
    await layOut(trial, signal);
    const report = await runInside(id, trial, signal);
    const bare = (await wantsNoSandbox({ home: places.home })) || (await programs().unavailable()) !== null;
    const own = { directory: tried, place: join(root, 'tests'), pith: dirname(places.shippedSandbox), bare, programs: programs() };
    const tests = report.loaded ? await runOwnTests(own, signal) : { findings: [], tried: [] };
    const { isolation } = (await extensionSettings(places))[id] ?? {};
    const found = isolation === 'in_process' ? report.findings.map(withoutKernel) : report.findings;
    const all = { ...report, findings: [...found, ...tests.findings], tried: [...tests.tried, ...report.tried] };
    // People read their own paths, also of what it depends on.
    const text = JSON.stringify(all).replaceAll(inJson(tried), inJson(folder)).replaceAll(inJson(sandbox), inJson(places.sandbox));
    return trialReport.parse(JSON.parse(text));
  } finally {
    trials.remove(name);
  }
}

/** What a person lets into the kernel is tried in a process all the same: what it lacks there is no fault of it. */
function withoutKernel(finding: TrialFinding): TrialFinding {
  if (finding.code !== 'not_supported_yet') return finding;
  const { cure: _, ...rest } = finding;
  return { ...rest, severity: 'info', message: `cannot be tried in a separate process, and is let into the kernel: ${finding.message}` };
}

function inJson(path: string): string {
  return JSON.stringify(path).slice(1, -1);
}

interface Trial extends TrialPorts {
  readonly id: string;
  /** Its text. */
  readonly manifest: string;
  readonly root: string;
  readonly sandbox: string;
}

/** What it depends on, the settings of both, and what others define, without their code. Of what ships nothing else runs. */
async function layOut({ id, manifest, root, sandbox, kernel, places }: Trial, signal: AbortSignal): Promise<void> {
  const needed = new Set([id]);
  const others: string[] = [];
  const all = await kernel.list(signal);
  const known = new Set(all.map((each) => each.id));
  const need = async (asked: unknown): Promise<void> => {
    const { depends_on, optional_depends_on } = dependencies.catch({ depends_on: [], optional_depends_on: [] }).parse(asked);
    for (const each of [...depends_on, ...optional_depends_on]) {
      if (needed.has(each)) continue;
      if (!known.has(each)) continue; // the trial says so
      const found = await kernel.shown(each, signal);
      needed.add(each);
      others.push(each);
      if (!found.shipped) await writeSources(join(sandbox, 'extensions', each), await readSources(found.directory));
      await need(found.manifest);
    }
  };
  await need(parsed(manifest));
  for (const other of all.filter((each) => !each.shipped && !needed.has(each.id))) {
    const { defines } = definitions.parse((await kernel.shown(other.id, signal)).manifest);
    if (defines !== null) await put(join(sandbox, 'extensions', other.id), 'manifest.yaml', { id: other.id, defines });
  }
  const settings = await extensionSettings(places);
  const { secrets: _, ...own } = settings[id] ?? {};
  const isOff = (each: string) => each !== BUILDER && !needed.has(each);
  const off = all.filter((each) => each.shipped && isOff(each.id)).map((each) => [each.id, { enabled: false }]);
  const on = others.map((each) => [each, { ...settings[each], enabled: true, secrets: [] }]);
  const held = (await wantsNoSandbox({ home: places.home })) ? { extensions_sandbox: 'off' } : {};
  await put(join(root, 'home', '.pith'), 'config.yaml', { ...held, extensions: Object.fromEntries([...off, ...on]) }); // what is tried does not see it
  await put(sandbox, 'pith.yaml', { extensions: { [id]: { ...own, enabled: true, isolation: 'process' } } });
}

/** null: the trial says what is wrong with it. */
function parsed(text: string): unknown {
  try {
    return yamlValue(text);
  } catch {
    return null; // the trial says what is wrong with it
  }
}

/** JSON is YAML. */
function put(folder: string, path: string, value: unknown): Promise<void> {
  return writeSources(folder, [{ path, bytes: Buffer.from(JSON.stringify(value)) }]);
}

/** The rest of the trial, in a process that opens its sandbox. */
async function runInside(id: string, trial: Pick<Trial, 'root' | 'sandbox' | 'places'>, signal: AbortSignal): Promise<TrialReport> {
  const { sandbox } = trial;
  const { output, why } = await runPith(['extensions', 'probe', id, '--here', '--json', '--sandbox', sandbox], trial, signal);
  if (output !== '') return trialReport.parse(JSON.parse(output));
  throw new PithError('start_failed', `'${id}' could not be tried: ${why}`, { cure: 'try it again; see: pith doctor' });
}

/** `why`: what it said last, as the end of a sentence; it has failed only where there is no output. */
async function runPith(
  words: readonly string[],
  { root, places }: Pick<Trial, 'root' | 'places'>,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly why: string }> {
  const argv = [execPath, join(dirname(places.shippedSandbox), 'bin', 'pith'), ...words];
  const env = { HOME: join(root, 'home'), PATH: '/usr/local/bin:/usr/bin:/bin' };
  const ended = await runProgram({ argv, cwd: root, env, mostBytes: MAX_OUTPUT, mostMs: TIMEOUT_MS }, signal).catch((error: unknown) => {
    throw signal.aborted ? new PithError('aborted', 'the trial was aborted', { cause: signal.reason }) : error;
  });
  const { output, errors, passed } = ended;
  if (passed !== null)
    return { output: '', why: passed === 'time' ? `it took longer than ${TIMEOUT_MS / 1000} s` : 'it printed without end' };
  const last =
    errors
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^pith: /, '') || 'it said nothing';
  return { output: output.toString(), why: last };
}

type Homes = Pick<Places, 'sandbox' | 'home'>;

/** The blocks of `extensions` in the person's settings and in those of the sandbox, which hold. */
async function extensionSettings(places: Homes): Promise<Readonly<Record<string, PlainMap>>> {
  const merged: Record<string, PlainMap> = {};
  for (const settings of await settingsOf(places))
    for (const [id, block] of Object.entries(fieldsOf(settings['extensions']))) merged[id] = { ...merged[id], ...fieldsOf(block) };
  return merged;
}

/** Whether settings say that nothing confines the processes of extensions. Those of a sandbox may have changed since it was trusted: without it, only the person's own count. */
export async function wantsNoSandbox(places: Partial<Homes>): Promise<boolean> {
  return (await settingsOf(places)).findLast(({ extensions_sandbox: wanted }) => wanted !== undefined)?.['extensions_sandbox'] === 'off';
}

async function settingsOf({ sandbox, home }: Partial<Homes>): Promise<readonly PlainMap[]> {
  const files = [...(home ? [join(home, '.pith', 'config.yaml')] : []), ...(sandbox === undefined ? [] : [join(sandbox, 'pith.yaml')])];
  return Promise.all(
    files.map(async (file) => {
      try {
        return fieldsOf(yamlValue(await readFile(file, 'utf8')));
      } catch {
        return {}; // not there, or the kernel says what is wrong with it
      }
    }),
  );
}
