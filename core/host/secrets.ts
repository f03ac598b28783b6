/** Secrets come from the environment, by declared names only, and their values never leave in text. */
export interface Secrets {
  /** null when it is not set or empty. */
  get(name: string): string | null;
  /** From now on the value of `name` is kept out of every text. */
  declare(names: Iterable<string>): void;
  /** `text` with the declared values (plain, in JSON, base64, hex and URL form) replaced by their names. */
  redact(text: string): string;
}

/** Shorter values would make every text unreadable, and hide nothing. */
const SHORTEST = 6;

export function createSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const declared = new Map<string, readonly string[]>();
  return {
    get: (name) => env[name] || null,
    declare(names) {
      for (const name of names) {
        const value = env[name];
        if (value && value.length >= SHORTEST && !declared.has(name)) declared.set(name, formsOf(value));
      }
    },
    redact(text) {
      let clean = text;
      for (const [name, forms] of declared) {
        for (const form of forms) if (clean.includes(form)) clean = clean.split(form).join(`[secret ${name}]`);
      }
      return clean;
    },
  };
}

function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const base64 = bytes.toString('base64');
  const hex = bytes.toString('hex');
  const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), base64, base64.replace(/=+$/, ''), bytes.toString('base64url'), hex, hex.toUpperCase()];
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}
