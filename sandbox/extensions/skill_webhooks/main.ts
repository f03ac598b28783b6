import type { Command, CommandProvider, ExtensionContext } from 'pith';
import { RouteProvider, type HttpRequest, type HttpResponse } from 'pith/http';
import { SavedSkills } from 'pith/saved_skills';
import { webhookCommands } from './commands.ts';
import { configSchema, type Config } from './config.ts';
import { PREFIX, WebhookRequests } from './requests.ts';
import { SeenRequests } from './seen-requests.ts';

const MOST_BYTES = 128 * 1024;

/** Saved skills that other systems run by signed requests. */
export default class SkillWebhooks implements CommandProvider, RouteProvider {
  static get config() {
    return configSchema();
  }

  static readonly protocols = [RouteProvider];

  readonly #requests: WebhookRequests;

  constructor(private readonly context: ExtensionContext<Config>) {
    const { clock, logger, config, database } = context;
    const skills = context.use(SavedSkills);
    this.#requests = new WebhookRequests({ skills, seen: new SeenRequests(database, clock), clock, logger, config });
  }

  getCommands(): readonly Command[] {
    return webhookCommands(() => this.context.use(SavedSkills), this.context.config);
  }

  async routes() {
    return { prefixes: [PREFIX], mostBytes: MOST_BYTES };
  }

  answer(request: HttpRequest): Promise<HttpResponse> {
    return this.#requests.answer(request);
  }
}
