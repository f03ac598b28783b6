import { codeOf, type ExtensionContext, PithError } from 'pith';
import { headerProblem } from '@pith/server-answers';
import type { ServerConfig } from './config.ts';

const NAMED = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/gu;

/** The values with each `${NAME}` replaced by the secret of that name; `${NAME:-text}` is the text where it is not declared or not set. Throws when one is not set, not granted or not given for this server. */
export function filled(values: Readonly<Record<string, string>>, getSecret: (name: string) => string | null): Record<string, string> {
  const secretOr = (name: string, otherwise: string | undefined): string | null => {
    try {
      return getSecret(name) ?? otherwise ?? null;
    } catch (error) {
      if (otherwise !== undefined && codeOf(error, '') === 'not_declared') return otherwise;
      throw error;
    }
  };
  const fill = (text: string): string =>
    text.replace(NAMED, (_, name: string, otherwise?: string) => {
      const value = secretOr(name, otherwise);
      if (value !== null) return value;
      throw new PithError('config_invalid', `the secret '${name}' is not set`, { cure: `run: pith secrets set ${name}` });
    });
  return Object.fromEntries(Object.entries(values).map(([key, text]) => [key, fill(text)]));
}

/** The headers, where they can be sent. Throws what is wrong with one, and not what is in it. */
export function sendable(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(value, false);
    if (problem !== null)
      throw new PithError('config_invalid', `the header '${name}' cannot be sent: ${problem}`, {
        cure: 'correct it, or the secret that it names',
      });
  }
  return headers;
}

/** A server by its name and by what gets its secrets: its address, or the whole command, of which every word decides what runs. */
export function useOf(name: string, server: ServerConfig): NonNullable<Parameters<ExtensionContext['getSecret']>[1]> {
  return { part: name, to: 'url' in server ? server.url : [server.command, ...server.args].map(word).join(' ') };
}

/** Which secrets go to which server. */
export function secretUsesOf(
  servers: Readonly<Record<string, ServerConfig>>,
): readonly { readonly name: string; readonly use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]> }[] {
  return Object.entries(servers).flatMap(([server, config]) => {
    const values = Object.values('url' in config ? config.headers : config.env);
    const names = new Set(values.flatMap((text) => [...text.matchAll(NAMED)].map(([, name = '']) => name)));
    return [...names].map((name) => ({ name, use: useOf(server, config) }));
  });
}

/** Words that could be taken for several, or that hold what a line cannot, are quoted. */
export function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : JSON.stringify(text);
}
