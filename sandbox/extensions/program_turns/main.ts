import { Conversations, type ExtensionContext, Places, type Tool, type ToolProvider, type TopicMap, type TurnInfo } from 'pith';
import { hiddenFolders } from '@pith/plain-text';
import { KeyedQueue, oncePromised, untilAborted } from '@pith/promises';
import { HttpUsers } from 'pith/http';
import { type ProgramTool, programToolsSchema } from './agent-key.ts';
import { type ProgramEvent, type ProgramRequest, ProgramTurns } from './contract.ts';
import type { OpenCalls } from './open-calls.ts';
import { programTool } from './program-tool.ts';

/** The agent key with the tools of a program. */
const KEY = 'program_tools';

/** Turns for programs: the tools of each are those that its request brings. */
export default class Programs implements ToolProvider {
  static get agentKeys() {
    return { [KEY]: programToolsSchema() };
  }

  /** Of the turns that this process runs for a program, by thread. */
  readonly #calls = new Map<string, OpenCalls>();
  /** One request at a time in a thread. */
  readonly #threads = new KeyedQueue();

  readonly #waiting = oncePromised(async () => {
    const { WaitingTurns } = await import('./waiting-turns.ts');
    return new WaitingTurns(this.context.database, this.context.clock);
  });

  constructor(private readonly context: ExtensionContext) {
    context.provide(ProgramTurns, { run: (request, signal) => this.#run(request, signal) });
  }

  getTools(): readonly Tool[] {
    return [programTool(this.#calls)];
  }

  async getTurnTools({ agent }: TurnInfo) {
    const tools = (agent.keys[KEY] ?? []) as readonly ProgramTool[];
    return tools.map(({ name, description, inputSchema }) => ({ tool: 'program_tool', name, description, inputSchema, elsewhere: true }));
  }

  /** Handles `thread.removed`. */
  async threadRemoved({ threadId, at }: TopicMap['thread.removed']): Promise<void> {
    await (await this.#waiting()).forget(threadId, at);
  }

  async *#run(request: ProgramRequest, signal?: AbortSignal): AsyncGenerator<ProgramEvent, void, undefined> {
    const { ProgramTurn } = await import('./program-turn.ts');
    const { by, agent, tools } = request;
    const found = await this.context.use(HttpUsers).agent(agent, by.role);
    const spec = tools.length === 0 ? found : { ...found, keys: { ...found.keys, [KEY]: tools } };
    const { agents, clock } = this.context;
    const conversations = this.context.use(Conversations);
    const hide = hiddenFolders(this.context.use(Places));
    const turn = await ProgramTurn.prepared(request, spec, { agents, clock, conversations, waiting: await this.#waiting(), hide });
    const { entered, leave } = this.#threads.place(turn.threadId);
    signal?.addEventListener('abort', leave, { once: true }); // whoever leaves may not read to the end
    try {
      await (signal === undefined ? entered : untilAborted(entered, signal));
      this.#calls.set(turn.threadId, turn.calls);
      yield* turn.events(signal);
    } finally {
      signal?.removeEventListener('abort', leave);
      if (this.#calls.get(turn.threadId) === turn.calls) this.#calls.delete(turn.threadId);
      leave();
    }
  }
}
