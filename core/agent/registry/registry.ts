import { type AgentSpec, codeOf, type Diagnostic, type Events, messageOf, type Off, PithError } from '../../contract/index.ts';
import { deepFreeze, type AgentDeclaration, type DeclaredAgents } from '../../kernel/index.ts';
import type { ModelRouter } from '../../models/index.ts';
import { admit, type AdmissionOptions, EVERY_AGENT, failedAgent, stateOf, unknownAgent, type AgentStatus } from './admission.ts';

export type { AgentStatus } from './admission.ts';

export type RunnableAgent = AgentStatus & { readonly spec: AgentSpec };

/** Which agents there are and whether each can run. Checked when asked for, and again after anything changed. */
export interface AgentRegistry {
  /** Sorted by id. */
  list(): Promise<readonly AgentStatus[]>;
  /** Rejects `agent_unknown` with the nearest names, `agent_failed` with the reason and the cure. */
  resolve(agent: string | AgentSpec): Promise<RunnableAgent>;
  /** Whether this agent could run, without rejecting. */
  examine(spec: AgentSpec): Promise<AgentStatus>;
  /** The declared and brought agents that `spec` may call (`delegates_to`), sorted by id. */
  callees(spec: AgentSpec): Promise<readonly AgentSpec[]>;
  /** Every agent is checked again when next asked for. */
  invalidate(): void;
  /** Stops listening to events. */
  stop(): void;
}

export interface RegistryOptions extends Pick<AdmissionOptions, 'skills'> {
  /** Its agents are those of now; read on every use. */
  readonly host: AdmissionOptions['host'] & { readonly agents: Pick<DeclaredAgents, 'declared' | 'brought'> };
  readonly events: Events;
}

const CHANGES = ['extension.activated', 'extension.reloaded', 'extension.failed', 'extension.stopped'] as const;

export function createAgentRegistry(options: RegistryOptions): AgentRegistry {
  const admissions = new Map<string, { readonly declaration: AgentDeclaration; readonly status: Promise<AgentStatus> }>();
  const published = new Map<string, AgentStatus['state']>();
  let passing = new WeakMap<AgentSpec, Promise<AgentStatus>>();
  let asked: Promise<readonly AgentDeclaration[]> | null = null;

  const invalidate = () => {
    admissions.clear();
    asked = null;
    passing = new WeakMap();
  };
  const admission = { ...options, declarations: async (names: readonly string[]) => [...(await knowing(names)).values()] };
  const offs: Off[] = [
    ...CHANGES.map((topic) => options.events.handle(topic, invalidate)),
    options.events.handle('provider.changed', ({ protocol }) => {
      if (protocol !== 'tool') invalidate();
    }),
  ];

  function statusOf(declaration: AgentDeclaration): Promise<AgentStatus> {
    const known = admissions.get(declaration.id);
    if (known?.declaration === declaration) return known.status;
    const status = check(declaration).then(announced);
    const kept = { declaration, status };
    admissions.set(declaration.id, kept);
    // What an agent lacks may come back with nobody there to say so.
    void status.then(({ id, state }) => state !== 'active' && admissions.get(id) === kept && admissions.delete(id));
    return status;
  }

  async function check(declaration: AgentDeclaration): Promise<AgentStatus> {
    const { id, spec, diagnostics } = declaration;
    if (spec === null) return { id, spec, state: 'failed', notes: diagnostics };
    const status = await admit(deepFreeze(spec), admission);
    const notes = [...diagnostics, ...status.notes];
    return { ...status, notes, state: stateOf(notes) };
  }

  function announced(status: AgentStatus): AgentStatus {
    const before = published.get(status.id);
    published.set(status.id, status.state);
    // The first sight of a healthy agent is no change.
    if (before !== status.state && !(before === undefined && status.state === 'active')) {
      options.events.publish('agent.changed', { agentId: status.id, state: status.state });
    }
    return status;
  }

  function declared(): Map<string, AgentDeclaration> {
    const found = new Map<string, AgentDeclaration>();
    for (const declaration of options.host.agents.declared()) if (!found.has(declaration.id)) found.set(declaration.id, declaration);
    return found;
  }

  /** Those that files declare; with all others only where one of `names` is not among them. */
  async function knowing(names: readonly string[]): Promise<ReadonlyMap<string, AgentDeclaration>> {
    const found = declared();
    const isOfFile = (name: string) => found.has(name) && found.get(name)?.readBy === undefined;
    return names.every(isOfFile) ? found : all();
  }

  /** Asks who brings agents, once until something changed. */
  async function all(): Promise<ReadonlyMap<string, AgentDeclaration>> {
    const brought = await (asked ??= options.host.agents.brought());
    const found = declared();
    for (const each of brought) {
      const known = found.get(each.id);
      if (known === undefined || (known.readBy !== undefined && known.file === each.file)) found.set(each.id, each);
    }
    for (const id of published.keys()) {
      if (found.has(id)) continue;
      published.delete(id);
      admissions.delete(id);
      options.events.publish('agent.changed', { agentId: id, state: 'removed' });
    }
    return found;
  }

  async function statusFor(agent: string | AgentSpec): Promise<AgentStatus> {
    if (typeof agent !== 'string') {
      const known = passing.get(agent);
      if (known) return known;
      const status = admit(deepFreeze(agent), admission);
      passing.set(agent, status);
      void status.then(({ state }) => state !== 'active' && passing.get(agent) === status && passing.delete(agent));
      return status;
    }
    const declarations = await knowing([agent]);
    const declaration = declarations.get(agent);
    if (declaration) return statusOf(declaration);
    throw unknownAgent(agent, declarations.keys());
  }

  return {
    async list() {
      const sorted = [...(await all()).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return Promise.all(sorted.map(statusOf));
    },
    async resolve(agent) {
      const status = await statusFor(agent);
      if (status.state === 'failed' || status.spec === null) throw failedAgent(status);
      return status as RunnableAgent;
    },
    examine: (spec) => statusFor(spec),
    async callees({ id, delegatesTo }) {
      if (delegatesTo.length === 0) return [];
      const specs = [...(await knowing(delegatesTo)).values()].flatMap(({ spec }) => spec ?? []);
      const may = (callee: string) => delegatesTo.includes(callee) || (delegatesTo.includes(EVERY_AGENT) && callee !== id);
      return specs.filter((spec) => may(spec.id)).sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    invalidate,
    stop: () => offs.splice(0).forEach((off) => off()),
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
