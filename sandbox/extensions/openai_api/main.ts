import { Conversations, type ExtensionContext, type TopicMap } from 'pith';
import { oncePromised } from '@pith/promises';
import { HttpUsers, type Route, type RouteAnswer, RouteProvider, type RouteRequest } from 'pith/http';
import { ProgramTurns } from 'pith/program_turns';

/** Agents as models. All that a request needs is loaded with the first one. */
export default class OpenAiApi {
  readonly #kept = oncePromised(async () => {
    const { KeptResponses } = await import('./kept-responses.ts');
    return new KeptResponses(this.context.database, this.context.clock);
  });
  readonly #requests = oncePromised(async () => {
    const { openAiRequests } = await import('./requests.ts');
    const { clock, find } = this.context;
    const [turns, conversations] = [this.context.use(ProgramTurns), this.context.use(Conversations)];
    const users = this.context.use(HttpUsers);
    return openAiRequests({ turns, users, conversations, clock, find, kept: await this.#kept() });
  });

  constructor(private readonly context: ExtensionContext) {
    context.provide(RouteProvider, { routes: () => this.#routes(), answer: (request) => this.#answer(request) });
  }

  /** Handles `thread.removed`. */
  async threadRemoved(removed: TopicMap['thread.removed']): Promise<void> {
    await (await this.#kept()).forget(removed);
  }

  async #routes(): Promise<readonly Route[]> {
    return (await import('./routes.ts')).openAiRoutes();
  }

  async #answer(request: RouteRequest): Promise<RouteAnswer> {
    return (await this.#requests())(request);
  }
}
