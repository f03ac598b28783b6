import { existsSync } from 'node:fs';
import path from 'node:path';
import { overlay } from '@pith/plain-data';
import {
  CLOCK,
  createKernel,
  createParts,
  type Kernel,
  LOADER,
  MODEL_ROUTER,
  part,
  SANDBOX,
  SOURCE,
  sourceOf,
  THREAD_LOG,
} from '../compose/index.ts';
import { type AgentSpec, type Clock, PithError, ServiceProvider } from '../contract/index.ts';
import { MANIFEST_FILE, packageRoot, type SettingsInput, shippedSandbox } from '../declarations/index.ts';
import { createLoader } from '../loader/index.ts';
import { routerTo } from '../models/index.ts';
import { type Trust, trustOf } from '../trust/index.ts';
import { boundedLog } from './bounded-log.ts';
import { EMBEDDED, loaderOf, type ObjectExtension, objectExtension, programExtension, recordsOf } from './embedded.ts';
import { refuseFindings } from './guest-findings.ts';
import { askedFor, partsOf } from './models.ts';
import { folderAt, storeAt } from './named-folders.ts';
import type { EmbeddedSkill, PithOptions } from './options.ts';
import { DELEGATION, LIBRARIAN, refuseNotGiven, SHIPPED } from './shipped.ts';
import type { TemporaryFolder } from './temporary-folder.ts';
import { toolsOf } from './tools.ts';

interface Surroundings {
  readonly temporary: TemporaryFolder;
  /** Aborts when nothing may wait any more. */
  readonly ended: AbortSignal;
}

/** A kernel over what the options name, and nothing else. Rejects `settings_invalid` where something of it cannot be used. */
export async function openKernel(
  options: PithOptions & { readonly clock: Clock },
  agents: readonly AgentSpec[],
  { temporary, ended }: Surroundings,
): Promise<Kernel> {
  const { store, env = {}, model, clock } = options;
  const sandbox = options.sandbox === undefined ? path.join(temporary.path, 'sandbox') : folderAt(options.sandbox, 'sandbox');
  const { ships, folders, objects, own } = extensionsIn(options, agents);
  refuseNotGiven(options, agents, [...SHIPPED, ...ships, ...own]);
  const skills = await skillFolders(options, sandbox, temporary);
  const trust = trustIn(sandbox, options.project);
  const all = [...objects, programExtension(toolsOf(options.tools ?? {}), agents)];
  const given = typeof model === 'object' ? partsOf(model) : model;
  const folder = typeof store === 'string' && store !== 'memory' ? storeAt(store) : null; // made when nothing of the options is refused any more
  const dataDirectory = folder ?? path.join(temporary.path, 'data');
  const parts = createParts().createChildContainer();
  part(parts, LOADER, () => loaderOf(createLoader({ dataDirectory, packageRoot: packageRoot() }), all));
  part(parts, SOURCE, (get) => sourceOf(get(SANDBOX), { folders, objects: recordsOf(all, sandbox) }));
  if (typeof store === 'object') part(parts, THREAD_LOG, () => boundedLog(store, ended));
  part(parts, CLOCK, () => clock);
  if (given !== undefined && typeof given !== 'string') {
    const models = typeof given === 'function' ? (ref: string) => askedFor(given, ref, clock) : given;
    part(parts, MODEL_ROUTER, (get) => routerTo(models, () => get(SANDBOX).settings));
  }
  const kernel = await createKernel(
    {
      sandbox,
      trust,
      env: { PITH_LOG: 'silent', ...env },
      home: null,
      flags: settingsOf(options, dataDirectory, skills),
      inMemory: folder === null,
      isGuest: true,
      only: [...SHIPPED, ...ships],
    },
    parts,
  );
  try {
    await refuseFindings(kernel, options, { agents, own: [...own, EMBEDDED] });
    const { declarations } = kernel.host.extensions.discovery;
    if (own.some((id) => declarations.get(id)?.manifest?.provides.includes(ServiceProvider.id))) await kernel.host.startServices();
    return kernel;
  } catch (error) {
    await kernel.stop();
    throw error;
  }
}

interface GivenExtensions {
  /** Ids of what ships. */
  readonly ships: readonly string[];
  readonly folders: readonly string[];
  readonly objects: readonly ObjectExtension[];
  /** Ids of `folders` and `objects`. */
  readonly own: readonly string[];
}

function extensionsIn({ extensions = [] }: PithOptions, agents: readonly AgentSpec[]): GivenExtensions {
  const ships: string[] = agents.some(({ delegatesTo }) => delegatesTo.length > 0) ? [DELEGATION] : [];
  const folders: string[] = [];
  const objects: ObjectExtension[] = [];
  for (const extension of extensions) {
    if (typeof extension !== 'string') objects.push(objectExtension(extension));
    else if (/[\\/]/u.test(extension)) folders.push(extensionFolder(extension));
    else ships.push(extension);
  }
  const own = [...folders.map((folder) => path.basename(folder)), ...objects.map(({ manifest }) => manifest.id)];
  const twice = own.find((id, at) => own.indexOf(id) < at);
  if (twice !== undefined)
    throw new PithError('settings_invalid', `extensions: '${twice}' is there more than once`, { cure: 'rename one of them' });
  return { ships, folders, objects, own };
}

function extensionFolder(given: string): string {
  const folder = folderAt(given, 'extensions');
  if (existsSync(path.join(folder, MANIFEST_FILE))) return folder;
  throw new PithError('settings_invalid', `extensions: ${folder} has no ${MANIFEST_FILE}`, { cure: 'name the folder of an extension' });
}

/** Whoever names a sandbox and a project trusts them. What is beside the sandbox is not read, nor are files of the project that instruct agents. */
function trustIn(sandbox: string, project: string | undefined): Trust {
  const trust = trustOf({ sandbox, shipped: shippedSandbox(), home: null, accepts: true });
  return { ...trust, project: project === undefined ? null : folderAt(project, 'project'), projectFiles: [] };
}

function settingsOf({ settings = {}, model }: PithOptions, dataDirectory: string, skills: readonly string[]): SettingsInput {
  return overlay(settings, {
    data_dir: dataDirectory,
    ...(typeof model === 'string' ? { models: { default: model } } : {}),
    skills: { sources: { replace: [...skills] }, poll_seconds: 0 },
    extensions: { [LIBRARIAN]: { reader: 'program' } },
  }) as SettingsInput;
}

/** The folders in which skills are looked for; skills as objects are written into a temporary one. */
async function skillFolders({ skills = [], sandbox: given }: PithOptions, sandbox: string, temporary: TemporaryFolder): Promise<string[]> {
  const folders: string[] = given === undefined ? [] : [path.join(sandbox, 'skills')];
  const objects: EmbeddedSkill[] = [];
  for (const skill of skills) {
    if (typeof skill === 'string') folders.push(folderAt(skill, 'skills'));
    else objects.push(skill);
  }
  if (objects.length > 0) folders.push(await temporary.withSkills(objects));
  return folders;
}
