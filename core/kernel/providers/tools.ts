import { fieldsOf } from '@pith/plain-data';
import { within } from '@pith/promises';
import {
  type AgentSpec,
  type ApprovalQuestion,
  type JsonValue,
  messageOf,
  PithError,
  type ToolCall,
  type ToolProvider,
  type ToolResult,
  type TurnInfo,
  type Permissions,
} from '../../contract/index.ts';
import { type DescribedTools, type ToolDescriptor, questionOf, requirementsOf, resultOfError, TOOL_NAME } from '../calls/tools.ts';
import { isDynamic, keepsNames } from '../../declarations/index.ts';
import type { Manifest } from '../../trust/index.ts';
import { Problem, problemOf } from '../records/failures.ts';
import { runOutside } from '../records/stray-errors.ts';
import type { Generation } from '../calls/generation.ts';
import { invoke, type Invocation, recordCall } from '../calls/invoke.ts';
import { toJsonValue } from '../calls/json-value.ts';
import { TURN_TOOLS } from '../calls/surface.ts';
import { type Lifecycle, recorded, unavailable } from '../lifecycle/lifecycle.ts';
import { runnable, type Slot } from '../lifecycle/actor.ts';
import { callProvider } from './handle.ts';
import { printableLine } from '@pith/plain-text';
import type { ProcessTier } from '../lifecycle/tiers.ts';
import type { ExtensionStatus } from './status.ts';

/** The tools of extensions. */
export interface Tools {
  /** From the version that runs or the index where it is valid, else by loading the extension. Rejects `provider_unavailable` with the reason. */
  of(extensionId: string): Promise<readonly ToolDescriptor[]>;
  /** As far as they are known without loading it. */
  known(extensionId: string): readonly ToolDescriptor[];
  /** Never fails: a throw is `tool_failed`, a cut `tool_timeout`, an abort `aborted`, a reload under way `interrupted`, a missing tool `tool_gone`. */
  call(extensionId: string, tool: string, input: JsonValue, call: ToolCall): Promise<ToolResult>;
  /** A text or a question means yes, and is for the person who is asked. A tool that cannot be asked needs approval. */
  needsApproval(extensionId: string, tool: string, input: JsonValue, turn: TurnInfo): Promise<boolean | string | ApprovalQuestion>;
  /** What this machine enforces while a tool of the extension runs, in one line; null: it ships, and its tools know more of that. */
  enforced(extensionId: string): Promise<string | null>;
  /** Why the tool's schema refuses this input; null when it takes it, or could not be asked: a person decides then. */
  refusal(extensionId: string, tool: string, input: JsonValue): Promise<string | null>;
  /** The tool's own line for a terminal; undefined where it has none or throws. */
  present(extensionId: string, tool: string, result: ToolResult): Promise<string | undefined>;
  /** Ids of those that this agent names and that have tools of one turn, sorted. Loads what it names only where nothing is known of it. */
  turnProviders(agent: AgentSpec): Promise<readonly string[]>;
  /** Tools of running extensions that change. */
  readonly renewals: Pick<ToolRenewals, 'count' | 'underWay'>;
  /** Whether a step that called tools of these extensions may have changed what it brings: its own, or those of what it depends on. */
  isAskedAgain(extensionId: string, called: readonly string[]): boolean;
  /** What `getTurnTools` says, in its shape. Rejects `provider_timeout` or `provider_failed`, which is recorded already. */
  ofTurn(
    extensionId: string,
    turn: TurnInfo,
    signal: AbortSignal,
  ): Promise<readonly Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number][]>;
}

const ASK_MS = 1000;
/** For what a person is asked: the tool reads and compares the files that they agree to. */
const QUESTION_MS = 5000;
/** How long an extension may take to describe its tools again. */
const DESCRIBE_MS = 10_000;
/** Of what a tool wants a person to read, in characters. */
const MOST_SAID = 1024 * 1024;
/** How many entries one extension may give to one turn. */
const MOST_TURN_TOOLS = 1000;

export function createTools(lifecycle: Lifecycle, renewals: ToolRenewals, processes?: Pick<ProcessTier, 'confinement'>): Tools {
  const { runtime, slots } = lifecycle;
  const { redact, redactJson } = runtime.secrets;
  const readable = (text: string): string => redact(bounded(text));

  /** What a tool says of itself; `otherwise` when it cannot, which is recorded. */
  async function ask<T>(
    extensionId: string,
    question: Pick<Invocation, 'operation' | 'values' | 'timeoutMs'>,
    otherwise: T,
    read: (said: unknown) => T,
  ): Promise<T> {
    try {
      const generation = await lifecycle.ready({ id: extensionId });
      return read(await invoke(lifecycle, generation, { ...question, signal: undefined, phase: 'tool call' }));
    } catch (error) {
      recordCall(runtime, { extensionId, phase: 'tool call' }, error);
      return otherwise;
    }
  }

  return {
    renewals,
    of: (extensionId) => toolsOf(lifecycle, extensionId),
    known(extensionId) {
      const slot = slots.get(extensionId);
      return (slot && lifecycle.descriptorOf(slot)?.tools) ?? [];
    },
    async call(extensionId, tool, input, { signal, ...call }) {
      try {
        const generation = slots.has(extensionId) ? await lifecycle.ready({ id: extensionId }).catch(gone) : undefined;
        const descriptor = generation?.surface.descriptor.tools.find(({ name }) => name === tool);
        if (!generation || !descriptor) throw new PithError('tool_gone', `'${extensionId}' has no tool '${tool}' any more`);
        const { timeoutMs } = descriptor;
        const asked = { operation: 'tool.execute', values: [tool, input, call], timeoutMs, signal, phase: 'tool call' } as const;
        return redactJson((await invoke(lifecycle, generation, asked)) as ToolResult);
      } catch (error) {
        if (!(error instanceof PithError && error.code === 'tool_gone'))
          recordCall(runtime, { extensionId, phase: 'tool call', correlationId: call.turn.correlationId }, error);
        return resultOfError(error, redact);
      }
    },
    async needsApproval(extensionId, tool, input, turn) {
      if (!slots.has(extensionId)) return false;
      const question = { operation: 'tool.needsApproval', values: [tool, input, turn], timeoutMs: QUESTION_MS };
      return ask<boolean | string | ApprovalQuestion>(extensionId, question, UNSAID, (said) => {
        if (typeof said === 'string') return readable(said);
        if (typeof said === 'boolean') return said;
        if (!isQuestion(said)) throw new PithError('tool_failed', `'${tool}' did not say in a known form whether it needs approval`);
        return redactJson({ ...questionOf(said), text: bounded(questionOf(said).text) });
      });
    },
    async enforced(extensionId) {
      const declaration = slots.get(extensionId)?.declaration;
      if (declaration === undefined || runtime.loader.isShipped(declaration)) return null;
      if (runtime.rights.tierOf(declaration) === 'in_process') return NOT_SANDBOXED;
      const confinement = await Promise.resolve(processes?.confinement()).catch(() => null); // a process that cannot be confined is not started
      return confinement?.available === true ? sandboxedText(declaration.manifest?.permissions) : NOT_SANDBOXED;
    },
    async refusal(extensionId, tool, input) {
      if (!slots.has(extensionId)) return null;
      const question = { operation: 'tool.refusal', values: [tool, input], timeoutMs: ASK_MS };
      return ask<string | null>(extensionId, question, null, (said) => (typeof said === 'string' ? readable(said) : null));
    },
    async present(extensionId, tool, result) {
      if (!slots.get(extensionId)?.current) return undefined; // nothing is loaded for a line
      const question = { operation: 'tool.present', values: [tool, result], timeoutMs: ASK_MS };
      return ask(extensionId, question, undefined, (line) => (typeof line === 'string' ? redact(line) : undefined));
    },
    async turnProviders(agent) {
      const named = askedBy(
        runnable(slots),
        agent,
        ({ declaration }) => !keepsNames(declaration) || lifecycle.runtime.rights.isForeign(declaration),
      );
      const known = await Promise.all(
        named.map(async (slot) => {
          if (slot.pending) await slot.pending.catch(recorded);
          return lifecycle.descriptorOf(slot) ?? (await lifecycle.ready(slot).catch(recorded))?.surface.descriptor;
        }),
      );
      return named.flatMap(({ id }, index) => (known[index]?.turnTools ? [id] : [])).sort();
    },
    isAskedAgain(extensionId, called) {
      const after = [extensionId, ...(slots.get(extensionId)?.declaration.manifest?.depends_on ?? [])];
      return called.some((id) => after.includes(id));
    },
    async ofTurn(extensionId, turn, signal) {
      const found = await callProvider(lifecycle, extensionId, TURN_TOOLS, [turn, signal]);
      await within(runtime.clock, ASK_MS, renewals.ended(extensionId)); // it may have found meanwhile that it has others
      if (Array.isArray(found) && found.length <= MOST_TURN_TOOLS && found.every(isTurnTool))
        return redactJson(toJsonValue(found, 'the tools of a turn')) as unknown as readonly Awaited<
          ReturnType<NonNullable<ToolProvider['getTurnTools']>>
        >[number][];
      const message = `getTurnTools of '${extensionId}' returned no list of { tool, description?, inputSchema? } and { extension: id }`;
      const problem = new Problem('getTurnTools', 'provider_failed', message);
      runtime.failures.record(extensionId, problem);
      throw problem;
    },
  };
}

const NOT_SANDBOXED = 'not sandboxed: sees what you see';

/** What a process in bubblewrap reaches. */
function sandboxedText(
  { network, read, write }: Omit<Manifest['permissions'], 'agents'> = { network: false, read: [], write: [] },
): string {
  const places = (verb: string, paths: readonly string[]): string => (paths.length === 0 ? '' : `, ${verb} ${paths.join(', ')}`);
  const reach = `${network ? 'the whole network' : 'no network'}, reads the project${places('also reads', read)}, writes only its own data${places('and', write)}`;
  return printableLine(`sandboxed: ${reach}`, MOST_ENFORCED);
}

const MOST_ENFORCED = 200;

/** Fails closed. */
const UNSAID: ApprovalQuestion = { text: 'the tool could not say what this call would do', once: true };

export async function toolsOf(lifecycle: Lifecycle, extensionId: string): Promise<readonly ToolDescriptor[]> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot) throw unavailable(extensionId, 'nothing declares it');
  if (slot.pending) await slot.pending;
  const why = lifecycle.reason(slot);
  if (why !== undefined) throw unavailable(extensionId, why);
  if (!slot.declaration.manifest?.provides.includes('tool')) return [];
  return (lifecycle.descriptorOf(slot) ?? (await lifecycle.ready(slot)).surface.descriptor).tools;
}

function isQuestion(said: unknown): said is ApprovalQuestion {
  const { text, subject, always } = fieldsOf(said);
  const { key, covers } = fieldsOf(always);
  return (
    typeof text === 'string' &&
    (subject === undefined || typeof subject === 'string') &&
    (always === undefined || (typeof key === 'string' && typeof covers === 'string'))
  );
}

function bounded(said: string): string {
  const rest = said.length - MOST_SAID;
  return rest > 0 ? `(${rest} characters at its end are not shown)\n${said.slice(0, MOST_SAID)}` : said;
}

function gone(error: unknown): never {
  throw new PithError('tool_gone', messageOf(error), { cause: error });
}

/** By its id, by a key under `agent:` that it owns, by an extension that it could declare or, where it provides skills, by a skill. */
function askedBy(slots: readonly Slot[], agent: AgentSpec, isOwn: (slot: Slot) => boolean): readonly Slot[] {
  const named = new Set(slots.flatMap((slot) => namedBy(slot, agent, isOwn)));
  return slots.filter(({ id, declaration: { manifest } }) => {
    if (!manifest?.provides.includes('tool')) return false;
    return named.has(id) || (manifest.provides.includes('declarations') && manifest.depends_on.some((each) => named.has(each)));
  });
}

/** The ids that an agent names by naming this one: who owns one of its keys speaks of what it depends on. */
function namedBy(
  slot: Slot,
  { usesTools, findsTools = [], usesSkills, keys }: AgentSpec,
  isOwn: (slot: Slot) => boolean,
): readonly string[] {
  const { id } = slot;
  const { manifest } = slot.declaration;
  if (!manifest) return [];
  const { provides, agent_keys, depends_on } = manifest;
  if (agent_keys.some((key) => Object.hasOwn(keys, key))) return [id, ...depends_on];
  const tools = [...usesTools, ...findsTools];
  const byTool = tools.some((entry) => entry === '*' || entry === id || entry.startsWith(`${id}/`) || (entry === 'sandbox' && isOwn(slot)));
  const bySkill = provides.includes('skill') && usesSkills.length > 0;
  return byTool || bySkill || (provides.includes('declarations') && tools.some(isDynamic)) ? [id] : [];
}

function isTurnTool(value: unknown): boolean {
  const { tool, name, description, inputSchema, extension, onDemand, elsewhere } = fieldsOf(value);
  if (extension !== undefined) return typeof extension === 'string';
  const isObject = typeof inputSchema === 'object' && inputSchema !== null && !Array.isArray(inputSchema);
  return (
    typeof tool === 'string' &&
    (name === undefined || (typeof name === 'string' && TOOL_NAME.test(name))) &&
    (description === undefined || typeof description === 'string') &&
    (inputSchema === undefined || isObject) &&
    [onDemand, elsewhere].every((each) => each === undefined || typeof each === 'boolean')
  );
}

/**
 * Asks a running extension for its tools again whenever it says that they changed. One question at a time for each extension;
 * what is published meanwhile asks once more.
 */
export class ToolRenewals {
  readonly close: () => void;
  #count = 0;
  readonly #asking = new Map<string, { again: boolean; ended: Promise<void> }>();

  constructor(private readonly lifecycle: Lifecycle) {
    this.close = lifecycle.runtime.services.events.handle('provider.changed', ({ extensionId, protocol }) => {
      if (protocol === 'tool') this.#ask(extensionId);
    });
  }

  /** How often tools were replaced. */
  get count(): number {
    return this.#count;
  }

  /** null: nobody is asked now. Else resolves when those who are have answered. */
  underWay(): Promise<unknown> | null {
    return this.#asking.size === 0 ? null : Promise.all([...this.#asking.values()].map(({ ended }) => ended));
  }

  /** Resolves once it has answered, where it is asked now. */
  ended(extensionId: string): Promise<void> {
    return this.#asking.get(extensionId)?.ended ?? Promise.resolve();
  }

  #ask(extensionId: string): void {
    const open = this.#asking.get(extensionId);
    if (open) {
      open.again = true;
      return;
    }
    const state = { again: false, ended: Promise.resolve() };
    this.#asking.set(extensionId, state);
    state.ended = runOutside(async () => {
      do {
        state.again = false;
        const slot = this.lifecycle.slots.get(extensionId);
        if (slot?.current && (await renew(this.lifecycle, slot, slot.current))) this.#count += 1;
      } while (state.again);
      this.#asking.delete(extensionId);
    });
  }
}

/** Whether the tools were replaced. Never rejects: what goes wrong is recorded, and they stay as they were. */
async function renew(lifecycle: Lifecycle, slot: Slot, generation: Generation): Promise<boolean> {
  const { runtime } = lifecycle;
  if (!generation.surface.operations.has('tool.describe')) return false;
  try {
    const asked = { operation: 'tool.describe', values: [], timeoutMs: DESCRIBE_MS, signal: undefined, phase: 'call' } as const;
    const described = await invoke(lifecycle, generation, asked);
    if (slot.current !== generation) return false; // replaced meanwhile: the new version has said its own
    const { tools, warnings } = runtime.secrets.redactJson(described) as DescribedTools;
    lifecycle.replaceTools(generation, { tools, warnings });
    return true;
  } catch (error) {
    runtime.failures.record(slot.id, problemOf(error, 'call', 'provider_failed')); // nobody waits for an answer
    return false;
  }
}

/** What extensions of the kernel's process learn of administrators and of the tools that there are. */
export function permissionsOf(
  tools: Pick<Tools, 'of'>,
  statuses: () => readonly ExtensionStatus[],
  isAdmin: (userId: string) => boolean = () => false,
): Permissions {
  return {
    isAdmin: async (userId) => isAdmin(userId),
    async tools() {
      const providers = statuses().filter(({ provides, state }) => provides.includes('tool') && state !== 'disabled');
      const described = await Promise.all(
        providers.map(async ({ id: extensionId, manifest }) => {
          const found = await tools.of(extensionId).catch(() => []); // it failed, which `pith doctor` says
          return found.map(({ name, description, effect, permission }) => ({
            extensionId,
            version: manifest?.version ?? '0.0.0',
            name,
            description,
            permission: requirementsOf(effect, permission),
          }));
        }),
      );
      return described.flat();
    },
  };
}
