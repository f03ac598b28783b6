import { PithError, type ChannelMessage, type ChannelProvider, type Command, type CommandProvider, type ExtensionContext } from 'pith';
import { RouteProvider, type HttpRequest, type HttpResponse } from 'pith/http';
import { SavedSkills } from 'pith/saved_skills';
import { webhookCommands } from './commands.ts';
import { configSchema, type Config } from './config.ts';
import { PREFIX, WebhookRequests } from './requests.ts';
import { ResultKeys } from './result-keys.ts';
import { Results } from './results.ts';
import { SeenRequests } from './seen-requests.ts';
import { webhookTables } from './tables.ts';

const MOST_BYTES = 128 * 1024;

/** Saved skills that other systems run by signed requests, and whose results are sent to them. */
export default class SkillWebhooks implements CommandProvider, RouteProvider, ChannelProvider {
  static get config() {
    return configSchema();
  }

  static readonly protocols = [RouteProvider];

  readonly kinds = ['webhook'];
  readonly #requests: WebhookRequests;
  readonly #keys: ResultKeys;
  readonly #results: Results;

  constructor(private readonly context: ExtensionContext<Config>) {
    const { clock, logger, config, database } = context;
    const skills = context.use(SavedSkills);
    const tables = webhookTables(database);
    const stop = new AbortController();
    context.own(() => stop.abort(new PithError('stopped', 'Pith ended before the webhook answered', { retryable: true })));
    this.#keys = new ResultKeys(tables);
    this.#requests = new WebhookRequests({ skills, seen: new SeenRequests(tables, clock), clock, logger, config });
    const { private_origins: privateOrigins } = config;
    this.#results = new Results({ skills, keys: this.#keys, clock, privateOrigins, stopped: stop.signal });
  }

  getCommands(): readonly Command[] {
    return webhookCommands({ skills: () => this.context.use(SavedSkills), keys: this.#keys, url: this.context.config.public_url });
  }

  async routes() {
    return { prefixes: [PREFIX], mostBytes: MOST_BYTES };
  }

  answer(request: HttpRequest): Promise<HttpResponse> {
    return this.#requests.answer(request);
  }

  deliver(message: ChannelMessage, target: string): Promise<string> {
    return this.#results.deliver(message, target);
  }
}
