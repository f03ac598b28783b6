import { Conversations, type ExtensionContext, PithError, type Tool, type ToolProvider, type TurnInfo } from 'pith';
import { untilAborted } from '@pith/promises';
import { type Config, configSchema, type ProgramTool, programToolsSchema } from './config.ts';
import { type ProgramEvent, type ProgramRequest, ProgramTurns, type ProgramUser } from './contract.ts';
import type { OpenCalls } from './open-calls.ts';
import { programTool } from './program-tool.ts';

/** The agent key with the tools of a program. */
const KEY = 'program_tools';

/** Turns for programs: the tools of each are those that its request brings. */
export default class Programs implements ToolProvider {
  static get config() {
    return configSchema();
  }

  static get agentKeys() {
    return { [KEY]: programToolsSchema() };
  }

  /** Of the turns that this process runs for a program, by thread. */
  readonly #calls = new Map<string, OpenCalls>();
  readonly #threads = new Map<string, Promise<unknown>>();

  constructor(private readonly context: ExtensionContext<Config>) {
    context.provide(ProgramTurns, {
      agents: (by) => this.#agents(by),
      run: (request, signal) => this.#run(request, signal),
    });
  }

  getTools(): readonly Tool[] {
    return [programTool(this.#calls)];
  }

  async getTurnTools({ agent }: TurnInfo) {
    const tools = (agent.keys[KEY] ?? []) as readonly ProgramTool[];
    return tools.map(({ name, description, inputSchema }) => ({ tool: 'program_tool', name, description, inputSchema, elsewhere: true }));
  }

  async #agents({ isAdmin }: ProgramUser) {
    const { agents: allowed } = this.context.config;
    const all = await this.context.agents.list();
    return isAdmin || allowed.includes('*') ? all : all.filter(({ id }) => allowed.includes(id));
  }

  async *#run(request: ProgramRequest, signal?: AbortSignal): AsyncGenerator<ProgramEvent, void, undefined> {
    const { ProgramTurn } = await import('./program-turn.ts');
    const { by, agent, tools } = request;
    const found = (await this.#agents(by)).find(({ id }) => id === agent);
    if (found === undefined)
      throw new PithError('agent_unknown', `there is no agent '${agent}'`, { where: agent, cure: 'use one of those that are listed' });
    const spec = tools.length === 0 ? found : { ...found, keys: { ...found.keys, [KEY]: tools } };
    const { agents, clock, kv } = this.context;
    const conversations = this.context.use(Conversations);
    const turn = await ProgramTurn.prepared(request, spec, { agents, clock, kv, conversations });
    const release = await this.#hold(turn.threadId, signal);
    this.#calls.set(turn.threadId, turn.calls);
    signal?.addEventListener('abort', release, { once: true }); // whoever leaves may not read to the end
    try {
      yield* turn.events(signal);
    } finally {
      signal?.removeEventListener('abort', release);
      if (this.#calls.get(turn.threadId) === turn.calls) this.#calls.delete(turn.threadId);
      release();
    }
  }

  /** One request at a time in a thread. */
  async #hold(threadId: string, signal?: AbortSignal): Promise<() => void> {
    const before = this.#threads.get(threadId);
    let release!: () => void;
    const mine = new Promise<void>((resolve) => (release = resolve));
    const last = Promise.resolve(before).then(() => mine);
    this.#threads.set(threadId, last);
    void last.then(() => this.#threads.get(threadId) === last && this.#threads.delete(threadId));
    try {
      await (signal === undefined ? before : untilAborted(Promise.resolve(before), signal));
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}
