import { codeOf, PithError, type ExtensionContext, type JsonValue, type ModelInfo, type ModelProvider, type SetupProvider } from 'pith';
import { overruled } from '@pith/guarded-fetch';
import { config, type Config } from './config.ts';
import { addressInEnvironment, ANTHROPIC, endpointOf, placeOf } from './endpoint.ts';
import { askModels } from './listing.ts';
import { messagesModel } from './messages-model.ts';
import { anthropicSetup, contextWindowOf, MODELS } from './setup.ts';

export default class Anthropic implements ModelProvider, SetupProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  async models(_prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]> {
    const names = await askModels(
      endpointOf(this.context.config, (secret, use) => this.context.getSecret(secret, use)),
      signal,
    );
    return names.map((name) => ({ name, contextWindow: contextWindowOf(name, this.context.config.context_windows) }));
  }

  secretUses() {
    const { name, use } = placeOf(this.context.config, (address) => this.context.getSecret(address));
    return [{ name: 'ANTHROPIC_BASE_URL' }, { name, use }];
  }

  getSetupSchema() {
    return this.setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    if (name === 'base_url') this.refuseOther(typeof value === 'string' ? value : null, false);
    return this.setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.setup().onSetupComplete();
  }

  getModelServers(): Awaited<ReturnType<NonNullable<SetupProvider['getModelServers']>>> {
    return [
      {
        title: 'Anthropic (Claude)',
        prefix: 'anthropic',
        secret: 'ANTHROPIC_API_KEY',
        asksAddress: false,
        isDefault: true,
        isLocal: false,
      },
    ];
  }

  async askModels({ address, key }: Parameters<NonNullable<SetupProvider['askModels']>>[0], signal?: AbortSignal) {
    this.refuseOther(address, key !== null);
    const { config: set } = this.context;
    const place = address === null ? {} : { base_url: address === '' ? undefined : address };
    const own = { headers: {}, ...set.providers['anthropic'], ...place };
    const asked = { ...set, ...(address === '' ? place : {}), providers: { ...set.providers, anthropic: own } };
    try {
      const getSecret: typeof this.context.getSecret = (name, use) =>
        key === null || use === undefined ? this.context.getSecret(name, use) : key;
      return await askModels(endpointOf(asked, getSecret), signal);
    } catch (error) {
      if (WANTS_KEY.has(codeOf(error, ''))) this.refuseOther(address, true);
      throw error;
    }
  }

  private refuseOther(address: string | null, hasKey: boolean): void {
    const wins = addressInEnvironment((name) => this.context.getSecret(name));
    const why = overruled({ name: 'ANTHROPIC_BASE_URL', address: wins }, { address, hasKey, defaultAddress: ANTHROPIC, version: '/v1' });
    if (why === null) return;
    const cure = `unset ANTHROPIC_BASE_URL first${hasKey ? ', or set up what is there: pith setup anthropic' : ''}`;
    throw new PithError('config_invalid', why, { cure });
  }

  private setup() {
    return anthropicSetup(this.context.config, (name, use) => this.context.getSecret(name, use));
  }

  getModel(name: string) {
    if (name === '')
      throw new PithError('model_unknown', 'a model of Anthropic needs a name', { cure: `name one, such as anthropic/${MODELS[0]}` });
    const endpoint = endpointOf(this.context.config, (secret, use) => this.context.getSecret(secret, use));
    return { model: messagesModel(endpoint, name), contextWindow: contextWindowOf(name, this.context.config.context_windows) };
  }
}

/** Errors after which setup asks for a key. */
const WANTS_KEY: ReadonlySet<string> = new Set(['model_auth', 'secret_not_given']);
