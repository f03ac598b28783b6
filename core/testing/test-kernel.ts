import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Clock, PithError, type TurnEvent, type TurnRequest } from '../contract/index.ts';
import type { TurnEndReason } from '../agent/index.ts';
import {
  CLOCK,
  createKernel,
  createParts,
  type Kernel,
  type KernelOptions,
  MODEL_ROUTER,
  part,
  SANDBOX,
  TIER_OF,
  WIRE,
} from '../compose/index.ts';
import { loadSettings, LOCAL_USER, type SettingsInput } from '../declarations/index.ts';
import { SERIALISED, type Tier } from '../kernel/index.ts';
import { routerTo } from '../models/index.ts';
import { runCommand, type CommandOptions, type CommandOutcome } from './run-command.ts';
import type { ModelRequest, ScriptedModel } from './scripted-model.ts';
import { keepSkills, type TurnSkills } from './skills-of-turn.ts';

export interface TestKernelOptions {
  /** Files of the sandbox by relative path: `skills/hello/SKILL.md`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** A sandbox that is copied, without its data, before `files` are written: `sandbox` in the folder of a project. */
  readonly copyOf?: string;
  /** An existing sandbox, which is left as it is; absent: a temporary one, removed by `stop`. */
  readonly sandbox?: string;
  /** The home folder that the kernel knows; default none. */
  readonly home?: string | null;
  /** False: whether the sandbox is trusted is read from `home`, as outside of tests. Default true. */
  readonly accepts?: boolean;
  /** Of what ships, only these extensions and agents, and what they depend on, or may: `[]` is what `files` declare and nothing else. Default: all of it. */
  readonly only?: readonly string[];
  readonly model?: ScriptedModel;
  /** Serialise every argument and result; default: when the environment has `PITH_TEST_WIRE=1`, which runs a whole suite that way. */
  readonly wire?: boolean;
  /** `process`: as outside of tests, where everything that did not come with Pith runs in a separate process, made by the build. Default `in_process`, for speed. */
  readonly isolation?: Tier;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: SettingsInput;
  readonly clock?: Clock;
  /** What `pith serve` is asked for on its command line; default: it is not what runs. */
  readonly serve?: KernelOptions['serve'];
  /** The kernel's own commands, which the `pith` command gives it. */
  readonly commands?: KernelOptions['commands'];
}

export interface TurnOutcome {
  readonly text: string;
  readonly reason: TurnEndReason;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly events: readonly TurnEvent[];
  /** What the model was sent during this turn. */
  readonly requests: readonly ModelRequest[];
  /** The results of tools, in the order in which they arrived. */
  readonly results: readonly Extract<TurnEvent, { type: 'tool-result' }>[];
  /** The skills that were offered and loaded: see `expectSkillLoaded`. */
  readonly skills: TurnSkills;
}

export interface TestKernel extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly sandbox: string;
  /** One turn of the default agent in the thread `test`, unless others are named. */
  run(input: string, request?: Partial<TurnRequest>, signal?: AbortSignal): Promise<TurnOutcome>;
  /** One command of an extension: `skills list`. */
  command(line: string | readonly string[], options?: CommandOptions): Promise<CommandOutcome>;
  write(file: string, content: string | Uint8Array): Promise<void>;
  remove(file: string): Promise<void>;
  /** Stops the kernel and makes another one over the same sandbox, as after a restart. */
  restart(): Promise<void>;
  /** Stops the kernel, removes a temporary sandbox, and fails when the model's script was not played to its end. `await using` does not fail: it would hide why the test did. */
  stop(): Promise<void>;
}

/** The real kernel on a real folder; only model and clock are not real. The kernel sees neither the user's settings nor the process's environment. */
export async function testKernel(options: TestKernelOptions = {}): Promise<TestKernel> {
  if (options.sandbox !== undefined && options.copyOf !== undefined)
    throw new PithError('usage', 'testKernel: `copyOf` would be written over `sandbox`', { cure: 'give one of them' });
  const temporary = options.sandbox === undefined ? await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-test-'))) : null;
  const sandbox = options.sandbox ?? path.join(temporary as string, 'sandbox');

  async function write(file: string, content: string | Uint8Array): Promise<void> {
    const target = path.join(sandbox, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content);
  }

  const { accepts = true, copyOf, env = {}, files = {}, home = null, model, only, serve, commands } = options;
  /** What Pith keeps of a copy is in the temporary folder, wherever the copied settings want it. */
  const flags = copyOf === undefined ? options.flags : { data_dir: path.join(sandbox, 'data'), ...options.flags };
  const parts = partsOf(options);
  const make = () => createKernel({ sandbox, accepts, env, home, flags, only, serve, commands }, parts);
  let kernel: Kernel;
  try {
    await mkdir(sandbox, { recursive: true });
    if (copyOf !== undefined) await copySandbox(path.resolve(copyOf), sandbox);
    for (const [file, content] of Object.entries(files)) await write(file, content);
    kernel = await make();
  } catch (error) {
    await removeTemporary();
    throw error;
  }

  async function run(input: string, request: Partial<TurnRequest> = {}, signal?: AbortSignal): Promise<TurnOutcome> {
    const sentBefore = model?.requests.length ?? 0;
    const events: TurnEvent[] = [];
    const turn: TurnRequest = {
      agent: kernel.settings.default_agent,
      threadId: 'test',
      channelId: 'test',
      userId: LOCAL_USER,
      input,
      ...request,
    };
    const skills = keepSkills(kernel);
    try {
      for await (const event of kernel.agents.run(turn, signal)) events.push(event);
    } finally {
      skills.stop();
    }
    const start = events.find((event) => event.type === 'turn-start');
    const end = events.at(-1);
    if (end?.type !== 'turn-end') throw new Error(`the turn's last event is ${end?.type ?? 'missing'}, not turn-end`);
    return {
      text: end.text,
      reason: end.reason,
      error: end.error,
      events,
      requests: model?.requests.slice(sentBefore) ?? [],
      results: events.filter((event) => event.type === 'tool-result'),
      skills: await skills.of(start?.turn),
    };
  }

  async function release(): Promise<void> {
    await kernel.stop();
    await removeTemporary();
  }

  async function removeTemporary(): Promise<void> {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }

  return {
    get kernel() {
      return kernel;
    },
    sandbox,
    run,
    command: (line, asked) => runCommand(kernel, line, asked),
    write,
    remove: (file) => rm(path.join(sandbox, file), { recursive: true, force: true }),
    async restart() {
      await kernel.stop();
      kernel = await make();
    },
    async stop() {
      await release();
      model?.expectFinished();
    },
    [Symbol.asyncDispose]: release,
  };
}

/** What a person wrote: neither what Pith keeps there nor what is staged. Packages are found as from there. */
async function copySandbox(from: string, to: string): Promise<void> {
  const { settings } = await loadSettings({ sandbox: from, env: {}, workingDirectory: from });
  const kept = new Set([path.join(from, 'data'), path.join(from, '.staging'), settings.data_dir]);
  await cp(from, to, { recursive: true, filter: (file) => !kept.has(file) });
  for (let folder = from; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const packages = path.join(folder, 'node_modules');
    if (existsSync(packages)) return symlink(packages, path.join(path.dirname(to), 'node_modules'));
  }
}

/** The parts of a kernel, with those that a test replaces. */
function partsOf({ clock, model, isolation, wire = process.env['PITH_TEST_WIRE'] === '1' }: TestKernelOptions) {
  const parts = createParts().createChildContainer();
  if (clock) parts.register(CLOCK, { useValue: clock });
  if (wire) parts.register(WIRE, { useValue: SERIALISED });
  if (isolation !== 'process') parts.register(TIER_OF, { useValue: ({ dynamic }) => (dynamic ? 'process' : 'in_process') });
  if (model) part(parts, MODEL_ROUTER, (get) => routerTo(model, () => get(SANDBOX).settings));
  return parts;
}
