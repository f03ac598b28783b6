import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AgentSpec, type Clock, codeOf, messageOf, PithError, ServiceProvider, SkillProvider } from '../contract/index.ts';
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
import { handledKey, MANIFEST_FILE, packageRoot, type SettingsInput, shippedSandbox } from '../declarations/index.ts';
import { createLoader } from '../loader/index.ts';
import { routerTo } from '../models/index.ts';
import { type Trust, trustOf } from '../trust/index.ts';
import { overlay } from '@pith/plain-data';
import { keepAliveClock, systemClock, untilAborted, within } from '@pith/promises';
import { printableLine } from '@pith/plain-text';
import { isBelow } from '@pith/safe-files';
import { boundedLog } from './bounded-log.ts';
import { checkedClock } from './checked-clock.ts';
import { checkLimit, checkText, checkThread } from './checked-arguments.ts';
import { checkAnswers, checkOptions, checkRun } from './checked-options.ts';
import { loaderOf, type ObjectExtension, objectExtension, programExtension, recordsOf } from './embedded.ts';
import { HeldThreads } from './held-threads.ts';
import { askedFor, partsOf } from './models.ts';
import { agentsOf, assistantOf, refuseOtherModel, refuseUnusable } from './agents.ts';
import type { EmbeddedSkill, Pith, PithOptions } from './options.ts';
import { errorForProgram } from './program-texts.ts';
import { ENDING_MS, nobody, questionOf, type RunPorts, startRun } from './run.ts';
import { DELEGATION, LIBRARIAN, refuseNotGiven, SHIPPED } from './shipped.ts';
import { toolsOf } from './tools.ts';

/** Opens a kernel in this process, over what the options name alone. Rejects `settings_invalid` and what a start may fail with. */
export async function openPith(options: PithOptions): Promise<Pith> {
  try {
    return await pithOf(options);
  } catch (error) {
    throw errorForProgram(error);
  }
}

async function pithOf(options: PithOptions): Promise<Pith> {
  await checkOptions(options);
  const { approve = nobody, limits = {} } = options;
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock);
  const temporary = new TemporaryFolder();
  const agents = agentsOf(options);
  const ended = new AbortController();
  const kernel = await openKernel({ ...options, clock }, agents, { temporary, ended: ended.signal }).catch(async (error: unknown) => {
    await temporary.remove();
    throw error;
  });
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const held = new HeldThreads();
  const ports: RunPorts = {
    kernel,
    approve,
    limits,
    clock,
    held,
    closing: closing.signal,
    ownModel: typeof options.model === 'object' || typeof options.model === 'function',
    track(work) {
      const settled = work.then(noop, noop).then(() => void running.delete(settled));
      running.add(settled);
    },
  };
  const assistant = assistantOf(options);
  const agentNamed = (id: string | undefined): string | AgentSpec => id ?? firstAgent(kernel, agents) ?? assistant;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= (async () => {
      const late = new AbortController();
      const cancel = keepAliveClock.after(STOPPING_MS, () => late.abort());
      closing.abort(new PithError('aborted', 'it was closed'));
      await within(keepAliveClock, ENDING_MS, Promise.all(running));
      ended.abort(new PithError('aborted', 'it was closed'));
      await kernel.stop(late.signal);
      cancel();
      await temporary.remove();
    })());
  const requireOpen = (): void => {
    if (closed !== undefined) throw new PithError('usage', 'this Pith is closed', { cure: 'make another one' });
  };
  const untilClosed = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await untilAborted(work, AbortSignal.any([closing.signal])); // no listeners pile up at one
    } catch (error) {
      throw errorForProgram(error);
    }
  };
  return {
    run(text, given = {}) {
      requireOpen();
      checkText(text);
      checkRun('run', given);
      const { thread = randomUUID(), agent, output, ...rest } = given;
      checkThread('run', thread);
      refuseOtherModel(options.model, rest.model, 'run.model');
      return startRun({ ...rest, text, thread, agent: agentNamed(agent), output }, ports);
    },
    resume(thread, answers = {}, rest = {}) {
      requireOpen();
      checkThread('resume', thread);
      checkRun('resume', rest);
      checkAnswers(answers);
      const request = { ...rest, text: null, thread, answers, agent: agentNamed(undefined) };
      return startRun(request, { ...ports, approve: options.approve ?? (() => 'later') });
    },
    async questions(thread) {
      requireOpen();
      checkThread('questions', thread);
      return (await untilClosed(kernel.approvals.list(thread))).map(questionOf);
    },
    async skills() {
      requireOpen();
      const listed = kernel.host.providers.active(SkillProvider).then(async ([provider]) => provider?.listSkills());
      const found = (await untilClosed(listed)) ?? [];
      return found.map(({ id, description, state }) => ({ id, description, state }));
    },
    threads: {
      async list(limit = 100) {
        requireOpen();
        checkLimit(limit);
        return (await untilClosed(kernel.threads.list(limit))).map(({ id, title }) => ({ id, title: title || null }));
      },
      async messages(thread) {
        requireOpen();
        checkThread('threads.messages', thread);
        return (await untilClosed(kernel.threads.load(thread)))?.messages.map(({ message }) => message) ?? null;
      },
      async remove(thread) {
        requireOpen();
        checkThread('threads.remove', thread);
        await untilClosed(held.hold(thread, closing.signal, () => kernel.agents.deleteThread(thread)));
      },
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The agent of a run that names none; null: the program's assistant. */
function firstAgent({ settings, host }: Kernel, agents: readonly AgentSpec[]): string | null {
  const [first] = agents;
  if (first !== undefined) return first.id;
  const { default_agent: ofSandbox, origins } = settings;
  const isThere = origins['default_agent'] !== undefined || host.agents.declared().some(({ id }) => id === ofSandbox);
  return isThere ? ofSandbox : null;
}

interface Surroundings {
  readonly temporary: TemporaryFolder;
  /** Aborts when nothing may wait any more. */
  readonly ended: AbortSignal;
}

async function openKernel(
  options: PithOptions & { readonly clock: Clock },
  agents: readonly AgentSpec[],
  { temporary, ended }: Surroundings,
): Promise<Kernel> {
  const { store, env = {}, model, clock } = options;
  const sandbox = options.sandbox === undefined ? path.join(temporary.path, 'sandbox') : folderAt(options.sandbox, 'sandbox');
  const folder = typeof store === 'string' && store !== 'memory' ? storeAt(store) : null;
  const dataDirectory = folder ?? path.join(temporary.path, 'data');
  const { ships, folders, objects } = extensionsIn(options, agents);
  const own = [...folders.map((folder) => path.basename(folder)), ...objects.map(({ manifest }) => manifest.id)];
  refuseNotGiven(options, agents, [...SHIPPED, ...ships, ...own.slice(0, -1)]);
  const parts = createParts().createChildContainer();
  part(parts, LOADER, () => loaderOf(createLoader({ dataDirectory, packageRoot: packageRoot() }), objects));
  part(parts, SOURCE, (get) => sourceOf(get(SANDBOX), { folders, objects: recordsOf(objects, sandbox) }));
  if (typeof store === 'object') part(parts, THREAD_LOG, () => boundedLog(store, ended));
  part(parts, CLOCK, () => clock);
  if (model !== undefined && typeof model !== 'string') {
    const given = typeof model === 'function' ? (ref: string) => askedFor(model, ref) : partsOf(model);
    part(parts, MODEL_ROUTER, (get) => routerTo(given, () => get(SANDBOX).settings));
  }
  const kernel = await createKernel(
    {
      sandbox,
      trust: trustIn(sandbox, options.project),
      env: { PITH_LOG: 'silent', ...env },
      home: null,
      flags: settingsOf(options, dataDirectory, await skillFolders(options, sandbox, temporary)),
      inMemory: folder === null,
      isGuest: true,
      only: [...SHIPPED, ...ships],
    },
    parts,
  );
  try {
    refuseWrongSettings(kernel);
    refuseBroken(kernel, own);
    const configured = Object.keys((options.settings?.['extensions'] ?? {}) as object).filter((id) => kernel.host.extensions.state(id));
    await refuseFailing(kernel, [...own, ...configured]);
    refuseUnknownNames(kernel, configured);
    await refuseUnusable(kernel, agents);
    await refuseUnusableSkills(kernel, options);
    const first = firstAgent(kernel, agents);
    if (options.instructions !== undefined && first !== null)
      throw new PithError('settings_invalid', `instructions: the agent '${first}' is used, which has its own`, {
        cure: 'write them there, or leave `instructions` out',
      });
    if (own.some((id) => kernel.host.extensions.discovery.declarations.get(id)?.manifest?.provides.includes(ServiceProvider.id)))
      await kernel.host.startServices();
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
  /** The last has the tools and agents of the program. */
  readonly objects: readonly ObjectExtension[];
}

function extensionsIn({ extensions = [], tools = {} }: PithOptions, agents: readonly AgentSpec[]): GivenExtensions {
  const ships: string[] = agents.some(({ delegatesTo }) => delegatesTo.length > 0) ? [DELEGATION] : [];
  const folders: string[] = [];
  const objects: ObjectExtension[] = [];
  for (const extension of extensions) {
    if (typeof extension !== 'string') objects.push(objectExtension(extension));
    else if (/[\\/]/u.test(extension)) folders.push(extensionFolder(extension));
    else ships.push(extension);
  }
  const ids = [...folders.map((folder) => path.basename(folder)), ...objects.map(({ manifest }) => manifest.id)];
  const twice = ids.find((id, at) => ids.indexOf(id) < at);
  if (twice !== undefined)
    throw new PithError('settings_invalid', `extensions: '${twice}' is there more than once`, { cure: 'rename one of them' });
  return { ships, folders, objects: [...objects, programExtension(toolsOf(tools), agents)] };
}

function extensionFolder(given: string): string {
  const folder = folderAt(given, 'extensions');
  if (existsSync(path.join(folder, MANIFEST_FILE))) return folder;
  throw new PithError('settings_invalid', `extensions: ${folder} has no ${MANIFEST_FILE}`, { cure: 'name the folder of an extension' });
}

/** A program has nobody who would read what a sandbox says on its settings. */
function refuseWrongSettings(kernel: Kernel): void {
  const wrong = kernel.findings().find(({ severity, code }) => severity === 'error' && code === 'settings_invalid');
  if (wrong === undefined) return;
  const { code, message, file, line, cure } = wrong;
  throw new PithError(code, message, { where: file === undefined ? undefined : `${file}:${line ?? 1}`, cure });
}

/** Names in the settings that nothing goes by; in a sandbox, which others use too, only those that are slips. Call when the extensions that the program `configured` run. */
function refuseUnknownNames(kernel: Kernel, configured: readonly string[]): void {
  const notes = configured.flatMap((id) => kernel.host.extensions.show(id)?.notes ?? []);
  const wrong =
    kernel.findings().find(({ severity, code, message }) => OF_NAMES.has(code) && (severity === 'error' || OF_PROGRAM.test(message))) ??
    notes.find(({ code }) => code === 'config_invalid');
  if (wrong === undefined) return;
  const { message, cure } = wrong;
  throw new PithError('settings_invalid', message.replace(OF_PROGRAM, 'settings: ').replace(IN_PROGRAM, "'settings.$1"), {
    cure: cure ?? 'correct the name',
  });
}

const OF_NAMES: ReadonlySet<string> = new Set(['agent_unknown', 'name_unknown', 'unknown_key']);

/** How findings name what the settings of a program say. */
const OF_PROGRAM = /^flag:? /u;
const IN_PROGRAM = /'flag (\S+') is ignored/u;

/** Whoever gives an extension counts on it. Throws what is wrong with its declaration, and where it declares what a guest does not do. */
function refuseBroken(kernel: Kernel, ids: readonly string[]): void {
  const { declarations, failures } = kernel.host.extensions.discovery;
  for (const id of ids) {
    const wrong = failures.get(id) ?? declarations.get(id)?.diagnostics.find(({ severity }) => severity === 'error');
    if (wrong !== undefined) {
      const { code, message = 'it cannot be used', cure, file } = wrong;
      throw new PithError(code, `extensions.${id}: ${message}`, {
        where: file !== undefined && existsSync(file) ? file : undefined, // that of an object is not there
        cure: cure ?? 'correct its manifest',
      });
    }
    const manifest = declarations.get(id)?.manifest ?? null;
    const key = manifest === null ? undefined : handledKey(manifest);
    if (key === undefined) continue;
    throw new PithError('settings_invalid', `extensions.${id}.${key}: only \`pith chat\` and \`pith serve\` do what it declares`, {
      cure: `leave ${key} out, and call it from the program or from a service`,
    });
  }
}

/** Whoever gives a skill as an object counts on it. Rejects `settings_invalid` where one cannot be used, or another one has its id. */
async function refuseUnusableSkills({ host }: Kernel, { skills = [] }: PithOptions): Promise<void> {
  const ids = skills.flatMap((skill) => (typeof skill === 'string' ? [] : [skill.id]));
  if (ids.length === 0) return;
  const [provider] = await host.providers.active(SkillProvider);
  const wrong = (await provider?.listSkills())?.find(({ id, state }) => ids.includes(id) && (state === 'invalid' || state === 'shadowed'));
  if (wrong === undefined) return;
  const why = wrong.state === 'shadowed' ? 'a folder has a skill of this id, too' : (wrong.reason ?? 'it is invalid');
  const cure = wrong.state === 'shadowed' ? 'rename one of them' : 'correct it';
  throw new PithError('settings_invalid', `skills: '${wrong.id}' cannot be used: ${why}`, { cure });
}

/** They are started here, since a program has nobody who would read why one of them failed later. Rejects with that. */
async function refuseFailing({ host }: Kernel, ids: readonly string[]): Promise<void> {
  const started = await Promise.all(ids.map((id) => host.extensions.activate(id)));
  const wrong = started.find(({ state }) => state === 'failed' || state === 'blocked');
  if (wrong === undefined) return;
  const { id, code = 'provider_unavailable', message = 'it cannot start', file = '', cure = 'correct its code' } = wrong;
  const isOfCode = code.endsWith('_failed');
  throw new PithError(code, `extensions.${id}: ${message}`, {
    where: existsSync(file) ? file : undefined, // that of an object is not there
    cure: isOfCode ? 'correct its code, then call createPith again' : cure,
  });
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

function folderAt(given: string, option: string): string {
  const folder = path.resolve(given);
  if (isFolder(folder)) return folder;
  throw new PithError('settings_invalid', `${option}: there is no folder ${printableLine(folder)}`, { cure: 'correct its path' });
}

function isFolder(folder: string): boolean {
  try {
    return statSync(folder).isDirectory();
  } catch {
    return false; // it cannot be a path either
  }
}

/** Step by step: to make `/proc/x` at once Node tries for ever. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!isFolder(folder)) throw error; // else somebody has made it meanwhile
  }
}

/** Makes the folder, which has to be there before somebody is answered. */
function storeAt(given: string): string {
  const folder = path.resolve(given);
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    return folder;
  } catch (error) {
    throw new PithError('settings_invalid', `store: ${printableLine(folder)} cannot be written: ${printableLine(messageOf(error))}`, {
      cause: error,
      cure: "name a folder that can be written, or 'memory'",
    });
  }
}

/** Made when something has to be written, such as skills that are objects, and removed at the end. */
class TemporaryFolder {
  readonly path = path.join(os.tmpdir(), `pith-${randomUUID()}`);

  async withSkills(skills: readonly EmbeddedSkill[]): Promise<string> {
    const folder = path.join(this.path, 'skills');
    for (const [at, { id, description, body, files = {} }] of skills.entries()) {
      if (id.length > LONGEST_ID || id !== id.toLowerCase() || !/^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(id))
        throw new PithError('settings_invalid', `skills: '${id}' is not an id`, {
          cure: `use small letters, digits and single hyphens, ${LONGEST_ID} of them at most`,
        });
      if (skills.findIndex((other) => other.id === id) < at)
        throw new PithError('settings_invalid', `skills: '${id}' is there twice`, { cure: 'rename one of them' });
      const text = `---\nname: ${JSON.stringify(id)}\ndescription: ${JSON.stringify(description)}\n---\n${body}`;
      for (const [name, content] of Object.entries({ ...files, 'SKILL.md': text })) {
        const file = path.join(folder, id, name);
        if (!isBelow(file, path.join(folder, id)))
          throw new PithError('settings_invalid', `skills: the file '${name}' of '${id}' is outside of the skill`, {
            cure: 'correct its path',
          });
        try {
          await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
          await writeFile(file, content);
        } catch (error) {
          if (!UNUSABLE_NAME.has(codeOf(error, ''))) throw error;
          throw new PithError('settings_invalid', `skills: ${JSON.stringify(name)} of '${id}' cannot be the name of a file there`, {
            cause: error,
            cure: 'rename it',
          });
        }
      }
    }
    return folder;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}

/** Of a skill. */
const LONGEST_ID = 64;
/** What a system says to the name of a file: it contains NUL, is too long, or is that of a folder. */
const UNUSABLE_NAME: ReadonlySet<string> = new Set(['ERR_INVALID_ARG_VALUE', 'ENAMETOOLONG', 'ENOTDIR', 'EEXIST', 'EISDIR']);

/** Whatever extensions do, `close` waits for them no longer than this, runs included. */
const STOPPING_MS = 800;

const noop = (): void => undefined;
