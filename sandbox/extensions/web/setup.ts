import { PithError, type JsonValue, type SettingsChange, type SetupProvider, type SetupSchema } from 'pith';
import type { Config } from './config.ts';
import type { SearchService } from './search-service.ts';

/** Sets up the service of web_search. `service`: the present one. */
export function webSetup({ searxng_url: address, search }: Config, service: () => SearchService | null): SetupProvider {
  return {
    getSetupSchema(): SetupSchema {
      return {
        title: 'Search the web with Brave Search, Tavily or a SearXNG server; reading pages needs no set-up',
        fields: [
          { name: 'brave_key', kind: 'secret', secret: 'BRAVE_API_KEY', description: 'A key for Brave Search' },
          { name: 'tavily_key', kind: 'secret', secret: 'TAVILY_API_KEY', description: 'A key for Tavily' },
          {
            name: 'searxng_url',
            kind: 'text',
            description: 'The address of a SearXNG server that answers in JSON, such as http://127.0.0.1:8080; empty for none',
            current: address ?? null,
          },
          {
            name: 'search',
            kind: 'choice',
            choices: ['first', 'brave', 'tavily', 'searxng', 'off'],
            description: 'The service to ask; first: the first of SearXNG, Brave and Tavily that is set up',
            current: search ?? 'first',
          },
        ],
      };
    },
    applyConfig: changeOf,
    async onSetupComplete() {
      const set = service();
      if (set === null) return 'No search service is set up: agents can read pages but cannot search';
      await set.search('test', 1);
      return `${set.name} at ${set.host} answers`;
    },
  };
}

function changeOf(name: string, value: JsonValue): SettingsChange {
  if (typeof value !== 'string') throw new PithError('config_invalid', `'${name}' must be text`);
  const text = value.trim();
  if (name === 'searxng_url') return { 'extensions.web.searxng_url': text === '' ? null : text };
  if (name === 'search') return { 'extensions.web.search': text === '' || text === 'first' ? null : text };
  throw new PithError('config_invalid', `nothing here is named '${name}'`, { cure: 'searxng_url, search' });
}
