import { Conversations, type ExtensionContext } from 'pith';
import { type Route, RouteProvider } from 'pith/http';
import { ProgramTurns } from 'pith/program_turns';

/** With images in it. */
const MOST_BYTES = 32 * 1024 * 1024;

/** One route, which runs an agent. All that a request needs is loaded with the first one. */
export default class AgUi {
  constructor(context: ExtensionContext) {
    const turns = context.use(ProgramTurns);
    context.provide(RouteProvider, {
      async routes(): Promise<readonly Route[]> {
        const { RunAgentInputSchema: body } = await import('@ag-ui/core/schemas');
        const summary = 'Run an agent, and tell what it does by the events of AG-UI 1.0';
        return [{ method: 'POST', path: '/ag-ui/{agent}', need: 'user', summary, body, mostBytes: MOST_BYTES }];
      },
      async answer(request) {
        const { runAgent } = await import('./run.ts');
        return runAgent(request, { turns, conversations: context.use(Conversations) });
      },
    });
  }
}
