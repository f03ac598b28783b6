import type { ExtensionContext } from 'pith';
import { oncePromised } from '@pith/promises';
import { RouteProvider } from 'pith/http';
import { ProgramTurns } from 'pith/program_turns';

/** Agents as models. All that a request needs is loaded with the first one. */
export default class OpenAiApi {
  constructor(context: ExtensionContext) {
    const answer = oncePromised(async () =>
      (await import('./requests.ts')).openAiRequests({
        turns: context.use(ProgramTurns),
        clock: context.clock,
        database: context.database,
      }),
    );
    context.provide(RouteProvider, {
      routes: async () => (await import('./routes.ts')).openAiRoutes(),
      answer: async (request) => (await answer())(request),
    });
  }
}
