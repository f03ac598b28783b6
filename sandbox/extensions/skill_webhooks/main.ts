import { PithError, type ChannelMessage, type ChannelProvider, type Command, type CommandProvider, type ExtensionContext } from 'pith';
import { type Route, RouteProvider } from 'pith/http';
import { SavedSkills } from 'pith/saved_skills';
import { webhookCommands } from './commands.ts';
import { configSchema, type Config } from './config.ts';
import { PREFIX, WebhookRequests } from './requests.ts';
import { Results } from './results.ts';
import { webhookTables, SeenRequests, ResultKeys } from './tables.ts';

const ROUTE: Route = {
  method: 'POST',
  path: `${PREFIX}/{secret}`,
  need: 'public',
  summary: 'Run a saved skill by a signed request',
  mostBytes: 128 * 1024,
  fromServers: true,
};

/** Lets other systems run saved skills by signed requests, and sends them the results. */
export default class SkillWebhooks implements CommandProvider, ChannelProvider {
  static get config() {
    return configSchema();
  }

  readonly kinds = ['webhook'];
  readonly #keys: ResultKeys;
  readonly #results: Results;

  constructor(private readonly context: ExtensionContext<Config>) {
    const { clock, logger, config, database } = context;
    const skills = context.use(SavedSkills);
    const tables = webhookTables(database);
    const stop = new AbortController();
    context.own(() => stop.abort(new PithError('stopped', 'Pith ended before the webhook answered', { retryable: true })));
    this.#keys = new ResultKeys(tables);
    const requests = new WebhookRequests({ skills, seen: new SeenRequests(tables, clock), clock, logger, config });
    context.provide(RouteProvider, {
      routes: async () => [ROUTE],
      answer: (request) => requests.answer(request),
    });
    const { private_origins: privateOrigins } = config;
    this.#results = new Results({ skills, keys: this.#keys, clock, privateOrigins, stopped: stop.signal });
  }

  getCommands(): readonly Command[] {
    return webhookCommands({ skills: () => this.context.use(SavedSkills), keys: this.#keys, url: this.context.config.public_url });
  }

  deliver(message: ChannelMessage, target: string): Promise<string> {
    return this.#results.deliver(message, target);
  }
}
