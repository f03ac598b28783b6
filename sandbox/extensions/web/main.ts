import {
  PithError,
  type Diagnostic,
  type ExtensionContext,
  type JsonValue,
  type SetupProvider,
  type ToolProvider,
  type TurnInfo,
} from 'pith';
import { config, type Config } from './config.ts';
import { webFetchTool } from './fetch-tool.ts';
import { searchSecrets, searchService, type SearchService } from './search-service.ts';
import { webSearchTool } from './search-tool.ts';
import { webSetup } from './setup.ts';
import { webRead } from './contract.ts';

export default class Web implements ToolProvider, SetupProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  getTools() {
    const { clock, config: set } = this.context;
    const service = this.#withheld() === null ? this.#service() : null;
    const proxies = (name: string) => this.context.getSecret(name);
    const read = ({ threadId, correlationId }: TurnInfo, address: string) =>
      this.context.events.publish(webRead, { threadId, correlationId, address });
    const fetch = webFetchTool({ clock, privateOrigins: set.private_origins, proxies }, read);
    return [fetch, ...(service === null ? [] : [webSearchTool(service, read)])];
  }

  secretUses() {
    return searchSecrets(this.context.config);
  }

  findings(): readonly Diagnostic[] {
    const error = this.#withheld();
    if (error === null) return [];
    return [{ severity: 'warning', code: error.code, message: `web_search is off: ${error.message}`, cure: error.cure }];
  }

  getSetupSchema() {
    return this.#setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    return this.#setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.#setup().onSetupComplete();
  }

  #setup(): SetupProvider {
    return webSetup(this.context.config, () => this.#service());
  }

  #service(): SearchService | null {
    return searchService(this.context.config, (name, use) => this.context.getSecret(name, use));
  }

  /** Why the chosen service does not get the key; null: it does, or there is none. */
  #withheld(): PithError | null {
    try {
      this.#service();
      return null;
    } catch (error) {
      if (error instanceof PithError && error.code === 'secret_not_given') return error;
      throw error;
    }
  }
}
