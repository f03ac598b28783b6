import { existsSync, lstatSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Places } from 'pith';
import { fieldsOf, overlay, type PlainMap } from '@pith/plain-data';
import { yamlValue } from '@pith/guarded-yaml';
import type { TaskFile } from '../cases/case.ts';

/** The agent that judges: it has no tools and no skills. */
export const JUDGE = 'evals_judge';

export interface TrialProject {
  /** A new folder. */
  readonly root: string;
  /** The folder of the skill; null: the run does without it. */
  readonly skill: string | null;
  /** A folder with all other skills. */
  readonly others: string;
  readonly files: readonly TaskFile[];
}

/**
 * Lays out a project whose sandbox has the extensions, agents and settings of this one, and of its skills one exchanged: nothing else of
 * that id can be seen. Its state is its own, so that nobody reads a held-out case, an answer or a judge's reason later. Returns the sandbox.
 */
export async function layOut({ root, skill, others, files }: TrialProject, places: Places): Promise<string> {
  const project = path.join(root, 'project');
  const sandbox = path.join(project, 'sandbox');
  await mkdir(path.join(sandbox, 'skills'), { recursive: true });
  for (const { path: name, bytes } of files) {
    await mkdir(path.dirname(path.join(project, name)), { recursive: true });
    await writeFile(path.join(project, name), bytes);
  }
  if (places.sandbox !== places.shippedSandbox) for (const part of ['agents', 'extensions']) await copyPart(places.sandbox, sandbox, part);
  if (skill !== null) await cp(skill, path.join(sandbox, 'skills', path.basename(skill)), { recursive: true });
  await put(path.join(sandbox, 'pith.yaml'), await settingsFor(places.sandbox, others));
  await copyKeys(path.join(places.project ?? path.dirname(places.sandbox), '.env'), path.join(project, '.env'));
  return sandbox;
}

/** After the run: the agents of the run do not see that somebody judges. */
export async function addJudge(sandbox: string, instructions: string): Promise<void> {
  const folder = path.join(sandbox, 'agents', JUDGE);
  await mkdir(folder, { recursive: true });
  const agent = { instructions, uses_tools: [], skills: { mode: 'none' }, limits: { max_turns: 2 } };
  await put(path.join(folder, 'manifest.yaml'), { id: JUDGE, agent });
}

async function copyPart(from: string, to: string, part: string): Promise<void> {
  if (existsSync(path.join(from, part))) await cp(path.join(from, part), path.join(to, part), { recursive: true, verbatimSymlinks: true });
}

/** A project's keys are used as where it lies itself; the tools of agents are asked about `.env` in the run, too. */
async function copyKeys(from: string, to: string): Promise<void> {
  if (lstatSync(from, { throwIfNoEntry: false })?.isFile() === true) await writeFile(to, await readFile(from), { mode: 0o600 });
}

async function settingsFor(sandbox: string, others: string): Promise<PlainMap> {
  const { data_dir: _, ...own } = fieldsOf(await yamlOf(path.join(sandbox, 'pith.yaml')));
  const paths = fieldsOf(own['agents'])['paths'];
  const located = Array.isArray(paths) ? { agents: { paths: paths.map((one) => locate(String(one), sandbox)) } } : {};
  return overlay(overlay(own, located), {
    skills: { sources: { replace: [others, 'sandbox/skills'] }, skills_path: null, poll_seconds: 0 },
  });
}

async function yamlOf(file: string): Promise<unknown> {
  return existsSync(file) ? yamlValue(await readFile(file, 'utf8')) : {};
}

function locate(given: string, sandbox: string): string {
  return given.startsWith('~') ? given : path.resolve(sandbox, given);
}

/** JSON is YAML. */
function put(file: string, value: unknown): Promise<void> {
  return writeFile(file, `${JSON.stringify(value)}\n`);
}
