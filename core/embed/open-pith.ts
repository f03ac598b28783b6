import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AgentSpec, PithError, SkillProvider } from '../contract/index.ts';
import {
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
import { packageRoot, type SettingsInput, shippedSandbox } from '../declarations/index.ts';
import { createLoader } from '../loader/index.ts';
import { routerTo } from '../models/index.ts';
import { DEFAULT_LIMITS, type Trust, trustOf } from '../trust/index.ts';
import { overlay } from '@pith/plain-data';
import { isBelow } from '@pith/safe-files';
import { EMBEDDED, loaderOf, withEmbedded } from './embedded.ts';
import { modelOf } from './models.ts';
import type { EmbeddedAgent, EmbeddedSkill, Pith, PithOptions } from './options.ts';
import { nobody, type RunPorts, startRun } from './run.ts';
import { toolsOf } from './tools.ts';

/** What a program needs of what ships; the rest it names. */
const SHIPPED = ['skill_registry', 'skill_search', 'openai_compatible', 'anthropic', 'offline'];

/** The agent where nobody declares one. */
const ASSISTANT = 'assistant';

/** Opens a kernel in this process, over what the options name alone. Rejects `settings_invalid` and what a start may fail with. */
export async function openPith(options: PithOptions): Promise<Pith> {
  const { agents = [], approve = nobody, limits = {} } = options;
  const temporary = new TemporaryFolder();
  const kernel = await openKernel(options, temporary).catch(async (error: unknown) => {
    await temporary.remove();
    throw error;
  });
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const ports: RunPorts = {
    kernel,
    approve,
    limits,
    closing: closing.signal,
    track(work) {
      const settled = work.then(noop, noop).then(() => void running.delete(settled));
      running.add(settled);
    },
  };
  const own = new Map(agents.map((agent) => [agent.id, specOf(agent)]));
  const assistant = specOf({ id: ASSISTANT, instructions: options.instructions ?? '' });
  const agentNamed = (id: string | undefined): string | AgentSpec => {
    if (id !== undefined) return own.get(id) ?? id;
    return own.values().next().value ?? (options.sandbox === undefined ? assistant : kernel.settings.default_agent);
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= (async () => {
      closing.abort(new PithError('aborted', 'it was closed'));
      await Promise.all(running);
      await kernel.stop();
      await temporary.remove();
    })());
  const requireOpen = (): void => {
    if (closed !== undefined) throw new PithError('usage', 'this Pith is closed', { cure: 'make another one' });
  };
  return {
    run(text, { thread = randomUUID(), agent, output, ...rest } = {}) {
      requireOpen();
      return startRun({ ...rest, text, thread, agent: agentNamed(agent), output }, ports);
    },
    resume(thread, answers = {}, rest = {}) {
      requireOpen();
      return startRun({ ...rest, text: null, thread, answers, agent: agentNamed(undefined) }, ports);
    },
    async skills() {
      const [provider] = await kernel.host.providers.active(SkillProvider);
      const found = (await provider?.listSkills()) ?? [];
      return found.map(({ id, description, state }) => ({ id, description, state }));
    },
    threads: {
      list: async (limit = 100) => (await kernel.threads.list(limit)).map(({ id, title }) => ({ id, title })),
      messages: async (thread) => (await kernel.threads.load(thread))?.messages.map(({ message }) => message) ?? null,
      remove: (thread) => kernel.agents.deleteThread(thread),
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openKernel(options: PithOptions, temporary: TemporaryFolder): Promise<Kernel> {
  const { store, env = {}, extensions = [], model } = options;
  const sandbox = options.sandbox === undefined ? path.join(temporary.path, 'sandbox') : folderAt(options.sandbox, 'sandbox');
  const folder = typeof store === 'string' && store !== 'memory' ? path.resolve(store) : null;
  const dataDirectory = folder ?? path.join(temporary.path, 'data');
  const tools = toolsOf(options.tools ?? {});
  const parts = createParts().createChildContainer();
  part(parts, LOADER, () => loaderOf(createLoader({ dataDirectory, packageRoot: packageRoot() }), tools));
  part(parts, SOURCE, (get) => {
    const found = sourceOf(get(SANDBOX));
    return { ...found, source: withEmbedded(found.source, sandbox, tools) };
  });
  if (typeof store === 'object') part(parts, THREAD_LOG, () => store);
  if (typeof model === 'object') {
    const given = { model: modelOf(model), contextWindow: null };
    part(parts, MODEL_ROUTER, (get) => routerTo(given, () => get(SANDBOX).settings.models));
  }
  return createKernel(
    {
      sandbox,
      trust: trustIn(sandbox, options.sandbox !== undefined),
      env: { PITH_LOG: 'silent', ...env },
      home: null,
      flags: settingsOf(options, dataDirectory, await skillFolders(options, sandbox, temporary)),
      inMemory: folder === null,
      isGuest: true,
      only: [...SHIPPED, ...extensions],
    },
    parts,
  );
}

/** Whoever names a sandbox trusts it; its project brings no instructions of its own. */
function trustIn(sandbox: string, isThere: boolean): Trust {
  const trust = trustOf({ sandbox, shipped: shippedSandbox(), home: null, accepts: true });
  return isThere ? trust : { ...trust, project: null, projectFiles: [] };
}

function settingsOf({ settings = {}, model }: PithOptions, dataDirectory: string, skills: readonly string[]): SettingsInput {
  return overlay(settings, {
    data_dir: dataDirectory,
    ...(typeof model === 'string' ? { models: { default: model } } : {}),
    skills: { sources: { replace: [...skills] }, poll_seconds: 0 },
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
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new PithError('settings_invalid', `${option}: there is no folder ${folder}`, { cure: 'correct its path' });
}

/** Made when something has to be written, such as skills that are objects, and removed at the end. */
class TemporaryFolder {
  readonly path = path.join(os.tmpdir(), `pith-${randomUUID()}`);

  async withSkills(skills: readonly EmbeddedSkill[]): Promise<string> {
    const folder = path.join(this.path, 'skills');
    for (const { id, description, body, files = {} } of skills) {
      if (!/^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(id))
        throw new PithError('settings_invalid', `skills: '${id}' is not an id`, { cure: 'use small letters, digits and single hyphens' });
      const text = `---\nname: ${JSON.stringify(id)}\ndescription: ${JSON.stringify(description)}\n---\n${body}`;
      for (const [name, content] of Object.entries({ ...files, 'SKILL.md': text })) {
        const file = path.join(folder, id, name);
        if (!isBelow(file, path.join(folder, id)))
          throw new PithError('settings_invalid', `skills: the file '${name}' of '${id}' is outside of the skill`, {
            cure: 'correct its path',
          });
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        await writeFile(file, content);
      }
    }
    return folder;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}

function specOf({ id, limits, ...given }: EmbeddedAgent): AgentSpec {
  return {
    name: id,
    description: '',
    model: 'default',
    integrationMode: 'none',
    instructions: '',
    prompt: null,
    usesTools: [EMBEDDED, 'skill_registry'],
    usesSkills: [],
    delegatesTo: [],
    keys: {},
    ...given,
    id,
    limits: { ...DEFAULT_LIMITS, ...limits },
    promptFile: null,
    origin: null,
  };
}

const noop = (): void => undefined;
