import { didYouMean, withCure } from '@pith/plain-text';
import { type AgentSpec, type Clock, codeOf, type Diagnostic, type Events, messageOf, PithError } from '../../contract/index.ts';
import type { AgentDeclaration, DeclaredAgents, Host } from '../../kernel/index.ts';
import { deepFreeze } from '@pith/plain-data';
import type { ModelRouter } from '../../models/index.ts';
import { type BoundSkills, checkPrompt, skillIdIn } from '../prompt/instructions.ts';
import { resolveTools, type ToolHost } from '../tools/tools.ts';

type RunnableAgent = AgentStatus & { readonly spec: AgentSpec };

/** Which agents there are and whether each can run: looked at whenever somebody asks. */
export interface AgentRegistry {
  /** Sorted by id: all, or that of `only`, where there is one, without a look at others. */
  list(only?: string): Promise<readonly AgentStatus[]>;
  /** Rejects `agent_unknown` with the nearest names, `agent_failed` with the reason and the cure. */
  resolve(agent: string | AgentSpec): Promise<RunnableAgent>;
  /** Whether this agent could run, without rejecting. */
  examine(spec: AgentSpec): Promise<AgentStatus>;
  /** The declared and dynamic agents that `spec` may call (`delegates_to`), sorted by id. */
  callees(spec: AgentSpec): Promise<readonly AgentSpec[]>;
}

/** A provider may have failed to answer, with nobody there to say that it would now. */
const ASK_AGAIN_MS = 30_000;

/** The agents of `host` are those of now; they are read on every use. */
export function createAgentRegistry(
  host: ToolHost & { readonly extensions: Pick<Host['extensions'], 'onChange'>; readonly agents: DeclaredAgents },
  skills: BoundSkills,
  events: Pick<Events, 'publish' | 'handle'>,
  clock: Pick<Clock, 'now'>,
): AgentRegistry {
  /** What providers bring is asked for again when something has changed, or after a while: one that hangs is not waited for in every turn. */
  let dynamic: { readonly at: number; readonly agents: Promise<readonly AgentDeclaration[]> } | null = null;
  const forget = (): void => void (dynamic = null);
  const bring = (): Promise<readonly AgentDeclaration[]> => {
    const now = clock.now();
    if (dynamic === null || now < dynamic.at || now >= dynamic.at + ASK_AGAIN_MS) dynamic = { at: now, agents: host.agents.dynamic() };
    return dynamic.agents;
  };
  host.extensions.onChange(forget);
  events.handle('provider.changed', ({ protocol }) => (protocol === 'agents' ? forget() : undefined));
  const published = new Map<string, { readonly state: AgentStatus['state']; readonly look: number }>();
  let looks = 0;
  const admission = { host, skills, declarations: async (names: readonly string[]) => [...(await knowing(names)).values()] };

  async function statusOf({ id, spec, diagnostics }: AgentDeclaration): Promise<AgentStatus> {
    const look = (looks += 1);
    if (spec === null) return announced(look, { id, spec, state: 'failed', notes: diagnostics });
    const status = await admit(deepFreeze(spec), admission);
    const notes = [...diagnostics, ...status.notes];
    return announced(look, { ...status, notes, state: stateOf(notes) });
  }

  function announced(look: number, status: AgentStatus): AgentStatus {
    const { id, state } = status;
    const before = published.get(id);
    if (before !== undefined && before.look > look) return status; // a later look has ended already
    published.set(id, { state, look });
    // The first sight of a healthy agent is no change.
    if (before?.state !== state && !(before === undefined && state === 'active')) events.publish('agent.changed', { agentId: id, state });
    return status;
  }

  function declared(): Map<string, AgentDeclaration> {
    const found = new Map<string, AgentDeclaration>();
    for (const declaration of host.agents.declared()) if (!found.has(declaration.id)) found.set(declaration.id, declaration);
    return found;
  }

  /** Those that files declare; with all others only where one of `names` is not among them. */
  async function knowing(names: readonly string[]): Promise<ReadonlyMap<string, AgentDeclaration>> {
    const found = declared();
    const isOfFile = (name: string) => found.has(name) && found.get(name)?.readBy === undefined;
    return names.every(isOfFile) ? found : all();
  }

  async function all(): Promise<ReadonlyMap<string, AgentDeclaration>> {
    const found = declared();
    for (const each of await bring()) {
      const known = found.get(each.id);
      if (known === undefined || (known.readBy !== undefined && known.file === each.file)) found.set(each.id, each);
    }
    for (const id of published.keys()) {
      if (found.has(id)) continue;
      published.delete(id);
      events.publish('agent.changed', { agentId: id, state: 'removed' });
    }
    return found;
  }

  const examine = (spec: AgentSpec) => admit(deepFreeze(spec), admission);

  async function declaredStatus(id: string): Promise<AgentStatus> {
    const declarations = await knowing([id]);
    const declaration = declarations.get(id);
    if (declaration) return statusOf(declaration);
    throw unknownAgent(id, declarations.keys());
  }

  return {
    async list(only) {
      const known = [...(await (only === undefined ? all() : knowing([only]))).values()];
      const sorted = known.filter(({ id }) => only === undefined || id === only).sort((a, b) => (a.id < b.id ? -1 : 1));
      return Promise.all(sorted.map(statusOf));
    },
    async resolve(agent) {
      const status = await (typeof agent === 'string' ? declaredStatus(agent) : examine(agent));
      if (status.state === 'failed' || status.spec === null) throw failedAgent(status);
      return status as RunnableAgent;
    },
    examine,
    async callees({ id, delegatesTo }) {
      if (delegatesTo.length === 0) return [];
      const specs = [...(await knowing(delegatesTo)).values()].flatMap(({ spec }) => spec ?? []);
      const may = (callee: string) => delegatesTo.includes(callee) || (delegatesTo.includes(EVERY_AGENT) && callee !== id);
      return specs.filter((spec) => may(spec.id)).sort((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}

/** Names of an agent that nothing declares: it works without them. */
export const UNDECLARED: readonly string[] = ['name_unknown', 'tool_unknown', 'skill_not_found'];

const REFUSED: readonly string[] = [...UNDECLARED, 'unknown_key', 'manifest_invalid'];

/** What an agent that is about to be made must not have: wrong names, keys or model. Never rejects. */
export async function checkAgent(
  registry: Pick<AgentRegistry, 'examine'>,
  models: Pick<ModelRouter, 'check'>,
  spec: AgentSpec,
): Promise<readonly Diagnostic[]> {
  const found = await registry.examine(spec);
  const notes = found.notes.map((note): Diagnostic => (REFUSED.includes(note.code) ? { ...note, severity: 'error' } : note));
  try {
    models.check(spec.model);
    return notes;
  } catch (error) {
    const cure = error instanceof PithError ? error.cure : undefined;
    return [...notes, { severity: 'error', code: codeOf(error, 'model_unknown'), message: messageOf(error), ...(cure && { cure }) }];
  }
}

/** An agent and whether it can run now. `spec` is null only when its file is broken. */
export interface AgentStatus {
  readonly id: string;
  readonly spec: AgentSpec | null;
  /** `degraded` works without what `notes` name. */
  readonly state: 'active' | 'degraded' | 'failed';
  readonly notes: readonly Diagnostic[];
}

interface AdmissionOptions {
  readonly host: ToolHost & { readonly agents: Pick<DeclaredAgents, 'checkKeys'> };
  /** The agents that there are, with those that extensions bring where one of `names` is not declared by a file. */
  readonly declarations: (names: readonly string[]) => Promise<readonly AgentDeclaration[]>;
  readonly skills: BoundSkills;
}

/** In `delegates_to`: every declared agent but itself. */
const EVERY_AGENT = '*';

/** Every check that an agent passes before it runs, side by side: a plan of its turns without a turn. Never rejects. */
async function admit(spec: AgentSpec, options: AdmissionOptions): Promise<AgentStatus> {
  const declarations = await options.declarations([
    ...(spec.origin === null ? [] : [spec.id]),
    ...spec.delegatesTo.filter((id) => id !== EVERY_AGENT),
  ]);
  const at = placesOf(spec, declarations);
  let { keys } = spec;
  const checks = await Promise.all([
    guarded('uses_tools and uses_skills', async () => {
      const [tools, skills] = await Promise.all([resolveTools(spec, options.host), options.skills.read(spec)]);
      const skillNotes = skills.flatMap(({ note }) => (note ? [note] : []));
      const placedTools = tools.notes.map(at('uses_tools', spec.usesTools)).map(at('finds_tools', spec.findsTools ?? []));
      return [...placedTools, ...skillNotes.map(at('uses_skills', spec.usesSkills))];
    }),
    guarded('prompt', async () => (spec.prompt === null ? [] : checkPrompt(spec.prompt, spec.promptFile, spec.usesSkills))),
    guarded('agent keys', async () => {
      const found = await options.host.agents.checkKeys(spec);
      keys = found.keys;
      return found.notes;
    }),
  ]);
  const delegates = checkDelegates(spec, declarations).map(at('delegates_to', spec.delegatesTo));
  const versions = checkVersions(spec).map(at('uses_skills', spec.usesSkills));
  const notes = [...delegates, ...versions, ...checks.flat()].map((note) => placed(note, spec));
  return { id: spec.id, spec: keys === spec.keys ? spec : deepFreeze({ ...spec, keys }), state: stateOf(notes), notes };
}

function stateOf(notes: readonly Diagnostic[]): AgentStatus['state'] {
  if (notes.some(({ severity }) => severity === 'error')) return 'failed';
  return notes.some(({ severity }) => severity === 'warning') ? 'degraded' : 'active';
}

function checkDelegates(spec: AgentSpec, declarations: readonly AgentDeclaration[]): readonly Diagnostic[] {
  const ids = declarations.map(({ id }) => id);
  return spec.delegatesTo.flatMap((name): readonly Diagnostic[] => {
    if (name === EVERY_AGENT) return [];
    const target = declarations.find(({ id }) => id === name);
    if (target?.spec) return [];
    const error = target?.diagnostics.find(({ severity }) => severity === 'error');
    if (target)
      return [
        {
          severity: 'warning',
          code: 'agent_failed',
          message: `cannot delegate to '${name}': ${error ? reasonOf(error) : 'its declaration is broken'}`,
        },
      ];
    return [
      {
        severity: 'warning',
        code: 'name_unknown',
        message: `delegates_to '${name}': there is no such agent${didYouMean(name, ids)}`,
        cure: `correct the name, or add the agent '${name}'`,
      },
    ];
  });
}

/** One skill in two versions: the files and tools of either could be meant. */
function checkVersions({ usesSkills }: AgentSpec): readonly Diagnostic[] {
  return usesSkills.flatMap((name, index): readonly Diagnostic[] => {
    const other = usesSkills.slice(0, index).find((before) => before !== name && skillIdIn(before) === skillIdIn(name));
    if (other === undefined) return [];
    const message = `uses_skills names one skill as '${other}' and as '${name}'`;
    return [{ severity: 'error', code: 'skill_twice', message, cure: 'name one version of it' }];
  });
}

/** A check that itself breaks costs the agent a line, not its life. */
async function guarded(what: string, check: () => Promise<readonly Diagnostic[]>): Promise<readonly Diagnostic[]> {
  try {
    return await check();
  } catch (error) {
    return [{ severity: 'warning', code: 'provider_failed', message: `${what} could not be checked: ${messageOf(error)}` }];
  }
}

/** Gives a note on one of `names` the line of that name in the agent's file. */
function placesOf(spec: AgentSpec, declarations: readonly AgentDeclaration[]) {
  const declared = declarations.find(({ id, file }) => id === spec.id && file === spec.origin);
  return (key: string, names: readonly string[]) =>
    (note: Diagnostic): Diagnostic => {
      if (note.line !== undefined || declared?.positions === undefined) return note;
      const index = names.findIndex((name) => note.message.includes(`'${name}'`));
      const [line, column] = declared.positions[`agent.${key}.${index}`] ?? declared.positions[`agent.${key}`] ?? [];
      return line === undefined ? note : { ...note, file: declared.file, line, column };
    };
}

function placed(note: Diagnostic, spec: AgentSpec): Diagnostic {
  return note.file !== undefined || spec.origin === null ? note : { ...note, file: spec.origin };
}

/** Nothing declares it. */
function unknownAgent(id: string, known: Iterable<string>): PithError {
  const ids = [...known];
  const cure = `${ids.length === 0 ? '' : `name one of ${ids.slice(0, 10).join(', ')}; `}see: pith agents list`;
  return new PithError('agent_unknown', `there is no agent '${id}'${didYouMean(id, ids)}`, { where: id, cure });
}

/** It is declared and cannot run. */
function failedAgent({ id, notes }: AgentStatus): PithError {
  const errors = notes.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (errors.length > 1) {
    const reasons = errors.map((each, index) => `(${index + 1}) ${reasonOf(each)}`).join(' ');
    return new PithError('agent_failed', `the agent '${id}' cannot run: ${reasons}`);
  }
  return new PithError('agent_failed', `the agent '${id}' cannot run: ${first?.message ?? 'its declaration is broken'}`, {
    where: first && placeOf(first),
    cure: first === undefined ? `see what is wrong with ${id}: pith doctor` : (first.cure ?? 'correct it there'),
  });
}

function reasonOf(finding: Diagnostic): string {
  const place = placeOf(finding);
  return withCure(`${finding.message}${place === undefined ? '' : ` (${place})`}`, finding.cure);
}

function placeOf({ file, line }: Diagnostic): string | undefined {
  return file === undefined || line === undefined ? file : `${file}:${line}`;
}
