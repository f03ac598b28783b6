import path from 'node:path';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { ConfinedProgram, ConfinedPrograms } from '@pith/supervised-process';
import { codeOf, messageOf, type Places, type ToolResult } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { copySkill, type Digests, SkillTooLarge } from '@pith/skill-files';
import type { SkillRecord } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import type { ScriptsConfig } from '../config.ts';
import { scriptError, scriptResult } from './results.ts';
import { findScript, passedNames, type ScriptFile, subjectOf } from './script-file.ts';
import { bundleScript, type ScriptPlace } from './typescript.ts';
import { fetchCommand, lacksPackages, uvFolders, uvRun } from './uv.ts';

export interface ScriptPorts {
  readonly settings: ScriptsConfig['scripts'];
  readonly confined: ConfinedPrograms;
  /** The value of a variable that the settings let scripts have; null: it is not set. */
  getSecret(name: string): string | null;
  /** Where copies of skills are while their scripts run. */
  readonly copies: StateFolder;
  readonly places: Pick<Places, 'home' | 'shippedSandbox'>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** What is to be run, and what a person agreed to: undefined where nobody was asked. */
export interface ScriptCall {
  readonly script: string;
  readonly args: readonly string[];
  readonly approved: string | undefined;
  /** Whether the files of the copy are what was trusted: those of the folder may have been others while it was made. */
  isTrusted(copied: Digests): Promise<boolean>;
  readonly signal: AbortSignal;
}

/** What came of it. `ran`: the script and its exit code, where it was started. */
export interface ScriptRun {
  readonly result: ToolResult;
  readonly ran: { readonly path: string; readonly exit: number | null } | null;
}

/** What will confine a script, or why nothing will. */
export type Confinement =
  | { readonly by: 'bubblewrap' }
  /** The person's settings say so. */
  | { readonly by: 'settings' }
  /** There is no sandbox on this system: only a person who was asked runs anything. */
  | { readonly by: 'nothing'; readonly why: string; readonly cure: string };

export async function confinementOf({ settings, confined }: Pick<ScriptPorts, 'settings' | 'confined'>): Promise<Confinement> {
  if (settings.sandbox === 'none') return { by: 'settings' };
  const missing = await confined.unavailable();
  return missing === null ? { by: 'bubblewrap' } : { by: 'nothing', ...missing };
}

/** Runs one script on a copy of its skill, which is gone afterwards. */
export async function runScript(ports: ScriptPorts, skill: SkillRecord, call: ScriptCall): Promise<ScriptRun> {
  const confinement = await confinementOf(ports);
  const refused = refusalOf(ports.settings, call.args) ?? (call.approved === undefined ? unconfinedError(confinement) : null);
  if (refused !== null) return { result: refused, ran: null };
  ports.copies.make();
  await removeLeft(ports.copies.path, ports.now());
  const copy = await mkdtemp(path.join(ports.copies.path, 'run-'));
  try {
    const digests = await copySkill(skill.realDirectory, copy, call.signal);
    if (!(await call.isTrusted(digests ?? new Map()))) return { result: noLongerTrusted(skill.id), ran: null };
    return await runCopy(ports, skill, call, { copy, digests, confinement });
  } catch (error) {
    if (!(error instanceof SkillTooLarge)) throw error;
    return { result: scriptError('skill_too_large', `No script of '${printableLine(skill.id)}' can be run: ${error.message}.`), ran: null };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** No script runs for so long: the process that made the copy was killed. */
const LEFT_MS = 24 * 60 * 60 * 1000;

async function removeLeft(directory: string, now: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const copy = path.join(directory, name);
    const made = await stat(copy).catch(() => null); // another run has removed its own
    if (made !== null && made.mtimeMs < now - LEFT_MS) await rm(copy, { recursive: true, force: true });
  }
}

/** Why these arguments are too many; null: they are not. */
export function refusalOf({ max_args, max_arg_bytes }: ScriptPorts['settings'], args: readonly string[]): ToolResult | null {
  if (args.length > max_args)
    return scriptError(
      'script_args_invalid',
      `${args.length} arguments were given; at most ${max_args} are allowed (skills.scripts.max_args).`,
    );
  const bytes = args.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  if (bytes > max_arg_bytes)
    return scriptError(
      'script_args_invalid',
      `The arguments are ${bytes} bytes; at most ${max_arg_bytes} are allowed (skills.scripts.max_arg_bytes).`,
    );
  return args.some((each) => each.includes('\0')) ? scriptError('script_args_invalid', 'An argument contains a NUL character.') : null;
}

function noLongerTrusted(id: string): ToolResult {
  const message = `Skill '${printableLine(id)}' changed since a person trusted it; a person must look at it first: pith skills trust.`;
  return scriptError('skill_not_offered', message);
}

/** The error where nothing confines a script and nobody could be asked; null where something does. */
function unconfinedError(confinement: Confinement): ToolResult | null {
  if (confinement.by !== 'nothing') return null;
  const cure = `${confinement.cure}; in a chat in a terminal they are asked about each script instead`;
  return scriptError('sandbox_unavailable', `Scripts are not run, because ${confinement.why}. A person can fix it: ${cure}.`);
}

interface Copied {
  readonly copy: string;
  readonly digests: Digests | null;
  readonly confinement: Confinement;
}

async function runCopy(
  ports: ScriptPorts,
  skill: SkillRecord,
  call: ScriptCall,
  { copy, digests, confinement }: Copied,
): Promise<ScriptRun> {
  const { settings, confined, getSecret } = ports;
  const script = digests === null ? null : findScript(skill, call.script, digests);
  const refuse = (code: string, message: string): ScriptRun => ({ result: scriptError(code, message), ran: null });
  if (script === null)
    return refuse(
      'script_not_found',
      `That is not a script of '${printableLine(skill.id)}' that can be run: scripts are plain files under scripts/. read_skill lists the files.`,
    );
  const mustBeAsked = settings.approval === 'ask' || confinement.by === 'nothing';
  if (mustBeAsked && call.approved !== subjectOf(skill, script, { ...settings, confinedBy: confinement.by }))
    return refuse(
      'script_changed',
      `${printableLine(script.path)} of '${printableLine(skill.id)}' is not what a person approved: it, another file of the skill or the settings changed since. Call again to be asked again.`,
    );
  const isConfined = confinement.by === 'bubblewrap';
  const program = await programOf(ports, skill, script, {
    copy,
    at: isConfined ? skill.realDirectory : copy,
    isConfined,
    signal: call.signal,
  });
  if ('why' in program)
    return refuse(program.code, `${printableLine(script.path)} of '${printableLine(skill.id)}' was not run: ${program.why}.`);
  const run = async () => {
    const passed = passedNames(script, settings).map((name) => [name, getSecret(name)] as const);
    const env = { ...program.env, ...Object.fromEntries(passed.filter((pair): pair is [string, string] => pair[1] !== null)) };
    return confined.run({ ...program, argv: [...program.argv, ...call.args], env }, call.signal);
  };
  const outcome = await run().catch((error: unknown) =>
    refuse(
      codeOf(error, 'script_failed'),
      `${printableLine(script.path)} of '${printableLine(skill.id)}' was not run: ${messageOf(error)}.`,
    ),
  );
  if ('result' in outcome) return outcome;
  const ran = { path: script.path, exit: outcome.exit };
  const fetch = program.usesUv && lacksPackages(outcome) ? fetchCommand(path.join(skill.realDirectory, script.path)) : null;
  return { result: scriptResult(skill, script.path, outcome, { maxOutputBytes: settings.max_output_bytes, fetch }), ran };
}

type Refusal = { readonly code: string; readonly why: string };
type Prepared = ConfinedProgram & { readonly usesUv: boolean };

async function programOf(
  { settings, confined, places: { home, shippedSandbox } }: ScriptPorts,
  skill: SkillRecord,
  script: ScriptFile,
  { signal, ...place }: Omit<ScriptPlace, 'timeoutMs' | 'shippedSandbox'> & { readonly signal: AbortSignal },
): Promise<Prepared | Refusal> {
  const { copy, at, isConfined } = place;
  const text = (await readFile(path.join(copy, script.path))).subarray(0, HEAD_BYTES).toString('utf8');
  const interpreter = await interpreterOf(script.path, text, confined);
  const file = path.join(at, script.path);
  const seconds = Math.min(settings.timeout_s, script.declared?.timeoutSeconds ?? settings.timeout_s);
  const common = {
    cwd: at,
    timeoutMs: seconds * 1000,
    maxOutputBytes: settings.max_output_bytes,
    sandbox: isConfined ? ('required' as const) : ('none' as const),
    usesUv: interpreter.kind === 'uv',
  };
  const own = isConfined ? [{ from: copy, at }] : [];
  if (interpreter.kind === 'unknown') return { code: 'interpreter_missing', why: interpreter.why };
  if (interpreter.kind === 'program') return { ...common, argv: [...interpreter.argv, file], readOnly: own };
  if (interpreter.kind === 'uv') {
    const uv = uvRun(file, (await confined.locate('uv', uvFolders(home))).path, home, isConfined);
    if (uv !== null) return { ...common, argv: uv.argv, readOnly: [...uv.readOnly, ...own], env: uv.env };
    return {
      code: 'interpreter_missing',
      why: 'it names its packages in the file, which takes uv, and uv is not installed; see https://docs.astral.sh/uv',
    };
  }
  const bundle = await bundleScript(confined, script.path, { ...place, shippedSandbox, timeoutMs: common.timeoutMs }, signal);
  if ('why' in bundle) return { code: 'script_invalid', why: `it is not TypeScript that can be run: ${bundle.why}` };
  return { ...common, argv: [process.execPath, '--enable-source-maps', path.join(at, bundle.file)], readOnly: own };
}

const HEAD_BYTES = 256 * 1024;

/** What a script is run with. */
type Interpreter =
  | { readonly kind: 'program'; readonly argv: readonly string[] }
  /** TypeScript: made into JavaScript first. */
  | { readonly kind: 'typescript' }
  /** Python with dependencies named in the file. */
  | { readonly kind: 'uv' }
  | { readonly kind: 'unknown'; readonly why: string };

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.js': 'node',
  '.mjs': 'node',
  '.ts': 'typescript',
  '.py': 'python3',
  '.sh': 'sh',
};
const METADATA = /^# \/\/\/ script\s*$[\s\S]*?^# \/\/\/\s*$/mu;

/** By the first line of the script, else by its extension. */
export async function interpreterOf(script: string, text: string, programs: Pick<ConfinedPrograms, 'locate'>): Promise<Interpreter> {
  const extension = path.extname(script).toLowerCase();
  const shebang = shebangOf(text);
  const name = shebang?.name ?? BY_EXTENSION[extension];
  if (name === undefined) {
    const known = Object.keys(BY_EXTENSION).join(', ');
    return {
      kind: 'unknown',
      why: `its first line does not name an interpreter (#!/usr/bin/env …), and its extension is not one of ${known}`,
    };
  }
  const isPython = /^python[\d.]*$/u.test(name);
  if (name === 'uv' || (isPython && METADATA.test(text))) return { kind: 'uv' };
  if (name === 'typescript' || (extension === '.ts' && ['node', 'tsx', 'ts-node'].includes(name))) return { kind: 'typescript' };
  if (name === 'node') return { kind: 'program', argv: [process.execPath, ...(shebang?.args ?? [])] };
  const wanted = await programs.locate(name);
  const program = wanted.path ?? (isPython ? (await programs.locate('python3')).path : null);
  if (program !== null) return { kind: 'program', argv: [program, ...(shebang?.args ?? [])] };
  const cure = isPackageName(name) ? ` (such as: ${wanted.install})` : '';
  return { kind: 'unknown', why: `'${name}' is not installed among the programs of the system; install it${cure}` };
}

function shebangOf(text: string): { readonly name: string; readonly args: readonly string[] } | null {
  const line = /^#![ \t]*([^\r\n]+)/u.exec(text)?.[1];
  if (line === undefined) return null;
  const words = line.trim().split(/\s+/u);
  const isEnv = path.basename(words[0] ?? '') === 'env';
  const rest = isEnv ? words.slice(words[1] === '-S' ? 2 : 1) : words;
  const [program = '', ...args] = rest;
  return { name: path.basename(program), args };
}

/** A name from a file goes into a command that a person may copy. */
function isPackageName(name: string): boolean {
  return /^[a-z0-9][a-z0-9.+-]*$/u.test(name);
}
