import { Conversations, type ExtensionContext } from 'pith';
import { type Route, type RouteAnswer, RouteProvider, type RouteRequest } from 'pith/http';
import { ProgramTurns } from 'pith/program_turns';

/** With images in it. */
const MOST_BYTES = 32 * 1024 * 1024;

/** One route, which runs an agent. All that a request needs is loaded with the first one. */
export default class AgUi {
  constructor(private readonly context: ExtensionContext) {
    context.provide(RouteProvider, { routes: () => this.#routes(), answer: (request) => this.#answer(request) });
  }

  async #routes(): Promise<readonly Route[]> {
    const { RunAgentInputSchema: body } = await import('@ag-ui/core/schemas');
    const summary = 'Run an agent, and tell what it does by the events of AG-UI 1.0';
    return [{ method: 'POST', path: '/ag-ui/{agent}', need: 'user', summary, body, mostBytes: MOST_BYTES }];
  }

  async #answer(request: RouteRequest): Promise<RouteAnswer> {
    const { runAgent } = await import('./run.ts');
    const [turns, conversations] = [this.context.use(ProgramTurns), this.context.use(Conversations)];
    return runAgent(request, { turns, conversations, clock: this.context.clock });
  }
}
