import { PithError } from 'pith';

/** The values with each `${NAME}` replaced by the secret of that name. Throws when one is not set or not granted. */
export function filled(values: Readonly<Record<string, string>>, getSecret: (name: string) => string | null): Record<string, string> {
  const fill = (text: string): string =>
    text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/gu, (_, name: string) => {
      const value = getSecret(name);
      if (value !== null) return value;
      throw new PithError('config_invalid', `the secret '${name}' is not set`, { cure: `run: pith secrets set ${name}` });
    });
  return Object.fromEntries(Object.entries(values).map(([key, text]) => [key, fill(text)]));
}
