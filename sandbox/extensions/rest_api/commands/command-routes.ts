import { type Command, CommandProvider, type ExtensionContext, messageOf, PithError, Places } from 'pith';
import type { Route, RouteAnswer } from 'pith/http';
import type { ApiRequest } from '../route.ts';
import { commandInput, inputSchema } from './command-schema.ts';
import { runCommand } from './run-command.ts';
import { COMMAND_ROUTES, type CommandRoute } from './table.ts';

type Ports = Pick<ExtensionContext, 'find' | 'use' | 'logger'>;

/** The commands that this sandbox has, as routes: what a person can type, a program can ask. */
export class CommandRoutes {
  constructor(private readonly ports: Ports) {}

  /** Those whose commands are there now. */
  async routes(): Promise<readonly Route[]> {
    const commands = await this.#commands();
    return COMMAND_ROUTES.flatMap((route) => {
      const command = commands.get(route.command);
      return command === undefined ? [] : [routeOf(command, route)];
    });
  }

  /** null: another part answers this route. */
  async answer(request: ApiRequest): Promise<RouteAnswer | null> {
    const route = COMMAND_ROUTES.find((each) => `${each.method} ${each.path}` === request.route);
    if (route === undefined) return null;
    const command = (await this.#commands()).get(route.command);
    if (command === undefined) throw new PithError('not_found', 'the extension that answers this is off');
    const values = (route.method === 'GET' ? request.query : (request.body ?? {})) as Readonly<Record<string, unknown>>;
    const input = commandInput(command, route, { params: request.params, values });
    const confirmed = route.asks === true ? (values['confirm'] ?? []) : null;
    const { sandbox } = this.ports.use(Places);
    const asked = { userId: request.caller.userId, workingDirectory: sandbox, confirmed: confirmed as readonly string[] | null };
    const { exitCode, values: printed, text, question } = await runCommand(command, input, asked, request.signal);
    if (question !== null) {
      const error = { code: 'confirmation_needed', message: question.text, cure: 'send it again with this digest in `confirm`' };
      return { status: 409, json: { error, shown: question.shown, confirm: question.digest } };
    }
    const [first] = printed;
    if (first === undefined && exitCode !== 0) throw new PithError('command_failed', text === '' ? `'${route.command}' failed` : text);
    return { status: 200, json: printed.length > 1 ? [...printed] : (first ?? { done: true }) };
  }

  /** By path. A provider that fails is left out and logged. */
  async #commands(): Promise<ReadonlyMap<string, Command>> {
    const found = new Map<string, Command>();
    for (const provider of this.ports.find(CommandProvider)) {
      try {
        for (const command of await provider.getCommands()) if (!found.has(command.path)) found.set(command.path, command);
      } catch (error) {
        this.ports.logger.warn('routes of commands left out', { extension: provider.extensionId, reason: messageOf(error) });
      }
    }
    return found;
  }
}

function routeOf(command: Command, route: CommandRoute): Route {
  const { method, path, need } = route;
  const input = inputSchema(command, route);
  return { method, path, need, summary: command.description, ...(method === 'GET' ? { query: input } : { body: input }) };
}
