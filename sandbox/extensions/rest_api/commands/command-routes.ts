import { fieldProblems } from '@pith/checked-yaml';
import { type Command, CommandProvider, type ExtensionContext, type JsonValue, messageOf, PithError, Places, type Remote, z } from 'pith';
import { hiddenFolders } from '@pith/plain-text';
import { KeyedQueue, untilAborted } from '@pith/promises';
import type { Caller, HttpUsers, Route, RouteAnswer } from 'pith/http';
import type { Cursors } from '../cursors.ts';
import { preconditionFailed, tagOf } from '../entity-tags.ts';
import type { ApiRequest, DescribedRoute } from '../route.ts';
import { commandInput, inputSchema } from './command-schema.ts';
import { refusedWith, withCures } from './cures.ts';
import { schemaOf } from './openapi.ts';
import { askedPage, pageResult } from './pages.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';
import { COMMAND_ROUTES, type CommandRoute } from './table.ts';

type Values = Readonly<Record<string, unknown>>;
type Ports = Pick<ExtensionContext, 'find' | 'use' | 'logger'>;

interface ApiParts {
  readonly users: Remote<HttpUsers>;
  readonly cursors: Cursors;
  /** Aborts when this extension is about to be replaced. */
  readonly ending: AbortSignal;
}

/** What a person can type, a program can ask: routes that are answered by the commands of the kernel and of extensions. No answer has a path of this machine. */
export class CommandRoutes {
  /** Of what they change: between the check of a tag and its change comes no other. */
  readonly #changes = new KeyedQueue();
  /** Why the results of commands are not described, by path, as it was logged. */
  readonly #undescribed = new Map<string, string>();

  constructor(
    private readonly ports: Ports,
    private readonly api: ApiParts,
  ) {}

  /** All of them. What a request may say is checked when it comes, so that a start loads no command. */
  routes(): readonly Route[] {
    return COMMAND_ROUTES.map((route) => {
      const given = z.record(z.string(), z.json());
      const input = route.method === 'GET' ? { query: given } : { body: given.default({}) };
      return { ...stated(route), summary: `As the command: pith ${route.command}`, ...input };
    });
  }

  /** Those whose commands are there now, with all that a request may say. */
  async described(): Promise<readonly DescribedRoute[]> {
    const commands = await this.#commands();
    const described = COMMAND_ROUTES.map(async (route): Promise<readonly DescribedRoute[]> => {
      const command = commands.get(route.command);
      if (command === undefined) return [];
      const input = inputOf(route.method, inputSchema(command, route));
      return [{ ...stated(route, await this.#resultOf(command)), summary: command.description, ...input, ...answersOf(route) }];
    });
    return (await Promise.all(described)).flat();
  }

  /** undefined: it does not say what it prints, or nothing that can be described; that is logged once. */
  async #resultOf(command: Command): Promise<z.ZodType | undefined> {
    try {
      const result = await command.result?.();
      if (result !== undefined) schemaOf(result, 'output');
      return result;
    } catch (error) {
      const [about, reason] = [command.path, messageOf(error)];
      if (this.#undescribed.get(about) !== reason)
        this.ports.logger.warn('the description of routes leaves out what a command prints', { command: about, reason });
      this.#undescribed.set(about, reason);
      return undefined;
    }
  }

  /** Whether its answer has a secret. */
  isShownOnce(name: string): boolean {
    return COMMAND_ROUTES.some((each) => each.shownOnce === true && nameOf(each) === name);
  }

  async answer(request: ApiRequest): Promise<RouteAnswer> {
    const route = COMMAND_ROUTES.find((each) => nameOf(each) === request.route);
    const changed = route === undefined || route.method === 'GET' ? null : resourceOf(route);
    if (changed === null) return this.#answer(route, request);
    const wanted = request.headers['if-match'] ?? '*';
    return this.#changes.run(JSON.stringify([nameOf(changed), request.params]), async () =>
      wanted === '*' || wanted === (await this.#tagOf(changed, request)) ? this.#answer(route, request) : preconditionFailed(),
    );
  }

  async #answer(route: CommandRoute | undefined, request: ApiRequest): Promise<RouteAnswer> {
    const { caller, params, query, body, signal } = request;
    const command = route && (await this.#commands()).get(route.command);
    if (route === undefined || command === undefined) throw new PithError('not_found', 'there is nothing at this address');
    const given = checked(inputSchema(command, route), route.method === 'GET' ? query : body);
    const values = await this.#withAgent(given, route, caller);
    const places = this.ports.use(Places);
    const { confirm = [] } = values as { readonly confirm?: readonly string[] };
    const by = { userId: caller.userId, asAdmin: caller.may === 'admin' };
    const asked = { by, workingDirectory: places.sandbox, confirmed: route.asks === true ? confirm : null };
    const page = route.list === undefined ? null : await askedPage(route.list, { ...request, query: values }, this.api.cursors);
    const input = commandInput(command, route, { params, values: { ...values, ...page?.options } });
    const begun = runCommand(command, input, asked, signal);
    const running = page === null ? begun : page.begun(begun);
    const outcome = route.mayReplace === true ? await this.#orEnding(running) : await running;
    if (outcome === null) return { status: 202, json: { ok: true, pending: true } };
    const shown = answerOf(route, hiddenFolders(places)(outcome));
    const found = route.findings === true && shown.json !== undefined ? { ...shown, json: withCures(shown.json) } : shown;
    const hidden = page === null ? found : { ...found, json: await page.of(found.json, (place) => this.api.cursors.of(request, place)) };
    const answer = route.written === undefined ? hidden : withWritten(hidden, answerOf(route, outcome), route.written);
    if (route.command === 'agents list') return { ...answer, json: await this.#reachable(answer.json, caller) };
    const isWhole = Object.keys(given).length === 0;
    return TAGGED.has(route) && isWhole ? { ...answer, headers: { etag: tagOf(taggedIn(route, answer.json)) } } : answer;
  }

  /** null: the command replaces this extension, which waits for its open requests, so that none may wait for the command. */
  #orEnding(running: Promise<CommandOutcome>): Promise<CommandOutcome | null> {
    const { ending } = this.api;
    return untilAborted(running, ending).catch((error: unknown) => {
      if (!ending.aborted) throw error;
      running.catch((late: unknown) => this.ports.logger.warn('a command failed after it was answered', { reason: messageOf(late) }));
      return null;
    });
  }

  /** An agent that the caller does not reach is unknown. */
  async #withAgent(values: Values, { ofAgent }: CommandRoute, { role }: Caller): Promise<Values> {
    const { agent } = values;
    if (typeof agent !== 'string' && ofAgent !== true) return values;
    return { ...values, agent: (await this.api.users.agent(agent as string | undefined, role)).id };
  }

  /** Of listed agents those that the caller reaches, with the caller's own default one. */
  async #reachable(listed: JsonValue | undefined, { role }: Caller): Promise<JsonValue> {
    const rows = (listed ?? []) as readonly { readonly [key: string]: JsonValue }[];
    if (role === 'admin') return [...rows];
    const ids = (await this.api.users.agents(role)).map(({ id }) => id);
    return rows.filter(({ id }) => ids.includes(String(id))).map((row) => ({ ...row, default: row['id'] === ids[0] }));
  }

  /** As a GET of it without a query answers now. What a query asks for has no tag: it may be less than what a change changes. */
  async #tagOf(route: CommandRoute, request: ApiRequest): Promise<string | undefined> {
    return (await this.#answer(route, { ...request, query: {} })).headers?.['etag'];
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

const nameOf = ({ method, path }: CommandRoute): string => `${method} ${path}`;

function stated(
  { method, path, need, list, mayReplace }: CommandRoute,
  result?: z.ZodType,
): Pick<DescribedRoute, 'method' | 'path' | 'need' | 'result' | 'isPending'> {
  const shown = list === undefined ? result : pageResult(list, result);
  return { method, path, need, isPending: mayReplace === true, ...(shown === undefined ? {} : { result: shown }) };
}

/**
 * What a change is a change of: the route that shows the same path, or the nearest one above it with as many names. null: none does, as what
 * is added to a list was not there before, and a list is shown in pages.
 */
function resourceOf({ method, path }: CommandRoute): CommandRoute | null {
  const namesIn = (text: string): number => text.split('{').length;
  const above = COMMAND_ROUTES.filter(
    (each) =>
      each.method === 'GET' && each.list === undefined && `${path}/`.startsWith(`${each.path}/`) && namesIn(each.path) === namesIn(path),
  );
  const [nearest] = above.toSorted((one, other) => other.path.length - one.path.length);
  return nearest === undefined || (method === 'POST' && nearest.path === path) ? null : nearest;
}

/** Those that show what others change: two people may do so at once. */
const TAGGED: ReadonlySet<CommandRoute> = new Set(
  COMMAND_ROUTES.flatMap((route) => (route.method === 'GET' ? [] : (resourceOf(route) ?? []))),
);

function taggedIn({ untagged = [] }: CommandRoute, shown: JsonValue | undefined): JsonValue | undefined {
  if (untagged.length === 0) return shown;
  return Object.fromEntries(
    Object.entries(Object(shown) as Readonly<Record<string, JsonValue>>).filter(([name]) => !untagged.includes(name)),
  );
}

function checked(schema: z.ZodObject, given: unknown): Values {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const problems = fieldProblems(read.error.issues, schema, given);
  const message = problems.slice(0, 3).map((each) => [each.path.join('.'), each.message].filter((part) => part !== '').join(': '));
  throw new PithError('request_invalid', message.join('; '), { cure: 'see: GET /api/openapi.json', problems });
}

/** A body that may be empty may also be absent. */
function inputOf(method: Route['method'], input: z.ZodObject): Pick<Route, 'query' | 'body'> {
  if (method === 'GET') return { query: input };
  return { body: input.safeParse({}).success ? input.default({}) : input };
}

function answersOf(route: CommandRoute): Pick<DescribedRoute, 'reads' | 'isTagged' | 'asks'> {
  const changes = route.method !== 'GET' && resourceOf(route) !== null;
  return {
    isTagged: TAGGED.has(route),
    asks: route.asks === true,
    ...(changes ? { reads: ['If-Match'] } : {}),
  };
}

/** A command that shows something and asks has done nothing yet. One that fails without a word of JSON says why in words. */
function answerOf({ command }: CommandRoute, { exitCode, values, text, question }: CommandOutcome): RouteAnswer {
  if (question !== null) {
    const { error } = refusedWith({
      code: 'confirmation_needed',
      message: question.text,
      cure: 'send it again with this digest in `confirm`',
    });
    return { status: 409, json: { error, shown: question.shown, serious: [...question.serious], confirm: question.digest } };
  }
  const [first] = values;
  if (first === undefined && exitCode !== 0) throw new PithError('command_failed', text === '' ? `'${command}' failed` : text);
  return { status: 200, json: values.length > 1 ? [...values] : (first ?? { done: true }) };
}

/** An answer with these fields of another. */
function withWritten(answer: RouteAnswer, whole: RouteAnswer, fields: readonly string[]): RouteAnswer {
  const found = Object.entries(Object(whole.json) as Readonly<Record<string, JsonValue>>).filter(([name]) => fields.includes(name));
  return { ...answer, json: { ...(Object(answer.json) as object), ...Object.fromEntries(found) } };
}
