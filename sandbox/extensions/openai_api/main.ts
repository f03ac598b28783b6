import { Conversations, type ExtensionContext } from 'pith';
import { oncePromised } from '@pith/promises';
import { HttpUsers, type Route, type RouteAnswer, RouteProvider, type RouteRequest } from 'pith/http';
import { ProgramTurns } from 'pith/program_turns';

/** Agents as models. All that a request needs is loaded with the first one. */
export default class OpenAiApi {
  readonly #requests = oncePromised(async () => {
    const { openAiRequests } = await import('./requests.ts');
    const { clock, database, find } = this.context;
    const [turns, conversations] = [this.context.use(ProgramTurns), this.context.use(Conversations)];
    const users = this.context.use(HttpUsers);
    return openAiRequests({ turns, users, conversations, clock, database, find });
  });

  constructor(private readonly context: ExtensionContext) {
    context.provide(RouteProvider, { routes: () => this.#routes(), answer: (request) => this.#answer(request) });
  }

  async #routes(): Promise<readonly Route[]> {
    return (await import('./routes.ts')).openAiRoutes();
  }

  async #answer(request: RouteRequest): Promise<RouteAnswer> {
    return (await this.#requests())(request);
  }
}
