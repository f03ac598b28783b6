import path from 'node:path';
import { inspect } from 'node:util';
import { codeOf, messageOf, PithError, type ExtensionContext } from '../contract/index.ts';
import { existsSync, realpathSync } from 'node:fs';
import { stateFolder, type StateFolder, systemCure } from '@pith/safe-files';
import { isPlainMap } from '@pith/plain-data';
import type { Manifest } from './manifest.ts';
import { withFileLock } from './record-file.ts';
import type { EnvironmentFile } from './environment-file.ts';
import { printableLine } from '@pith/plain-text';

/** A text that comes in pieces, cleaned of secrets. */
export interface CleanStream {
  /** What can be shown of what has come until now. */
  feed(piece: string): string;
  /** The rest: nothing more comes. */
  end(): string;
}

/** Takes the values of declared secrets out of what models say: a server may repeat its key. */
export interface Cleaning {
  /** `text` with the declared values (plain, in JSON, base64, hex and URL form) replaced by their names. */
  redact(text: string): string;
  /** As `redact`, for a text that comes in pieces; null while there is nothing to hide. */
  stream(): CleanStream | null;
  /** As `redact`, for every text in plain JSON; `value` itself where there is nothing to hide. */
  redactJson<T>(value: T): T;
}

/** Secrets come from the environment, else from the file of the user's secrets, by declared names only, and their values never leave in text. */
export interface Secrets extends Cleaning {
  /** null when it is not set or empty. Throws `secret_not_given` where a person kept it for others. */
  get(name: string, asker: Asker): string | null;
  /** Whether there is one, whomever it was given for. */
  isSet(name: string): boolean;
  /** What the process of an extension is given of it: only what was given for one of its own. null when it is not set. */
  share(name: string, isOwn: (recipient: string) => boolean): SharedSecret | null;
  /** From now on the value of `name` is kept out of every text, unless it is the mere address of a server. */
  declare(names: Iterable<string>): void;
  /** An error that says the same without them; `error` itself where it holds none. */
  redactError(error: unknown): unknown;
}

/** Where the values of secrets are. */
export interface SecretSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Those that the environment does not have. */
  readonly stored?: SecretsFile | undefined;
  /** Those that neither of them has, of a trusted project; for whoever declares them, as with the environment. */
  readonly project?: EnvironmentFile | undefined;
}

/** A secret as it is handed to a process. */
export interface SharedSecret {
  /** null: it was given for others only. */
  readonly value: string | null;
  /** null: it is from the environment, and for whoever declares it. */
  readonly for: readonly string[] | null;
}

/** Shorter values would make every text unreadable, and hide nothing. */
const SHORTEST = 6;
/** Where requests lead through, and which do not: only a password in it is a secret. */
const PROXY = /^(?:HTTPS?|ALL|NO)_PROXY$/;

export function createSecrets(
  env: Readonly<Record<string, string | undefined>>,
  stored?: Pick<SecretsFile, 'get'>,
  project?: EnvironmentFile,
): Secrets {
  const declared = new Set<string>();
  /** What must not be seen, and whose it is; the longest first, for one may begin with another. A value that has been replaced stays. */
  let forms: readonly (readonly [form: string, name: string])[] = [];
  const inEnv = (name: string): string => (PROXY.test(name) && env[name.toLowerCase()]) || env[name] || ''; // proxies are written either way
  const inProject = (name: string): string | null => (PROXY.test(name) ? null : (project?.get(name) ?? null)); // nobody's project leads requests elsewhere
  const valueOf = (name: string): string | null => inEnv(name) || (stored?.get(name)?.value ?? inProject(name));
  const secrets: Secrets = {
    get(name, asker) {
      if (declared.has(name)) secrets.declare([name]); // it may have been given since
      const given = inEnv(name) ? null : (stored?.get(name) ?? null);
      if (given === null) return inEnv(name) || inProject(name);
      if (!isGivenFor(given.for, asker)) throw notGiven(name, given.for, asker);
      return given.value;
    },
    isSet: (name) => Boolean(valueOf(name)),
    share(name, isOwn) {
      if (declared.has(name)) secrets.declare([name]); // it may have been given since
      const given = inEnv(name) ? null : (stored?.get(name) ?? null);
      const open = inEnv(name) || inProject(name);
      if (given === null) return open === null ? null : { value: open, for: null };
      const own = given.for.filter(isOwn);
      return own.length > 0 ? { value: given.value, for: own } : { value: null, for: given.for };
    },
    declare(names) {
      for (const name of names) {
        declared.add(name);
        const given = valueOf(name);
        const value = given !== null && PROXY.test(name) ? passwordIn(given) : given;
        if (value === null || value.length < SHORTEST || isAddress(value)) continue;
        if (forms.some(([form, owner]) => form === value && owner === name)) continue;
        const own = formsOf(value).map((form) => [form, name] as const);
        forms = [...forms, ...own].sort(([a], [b]) => b.length - a.length);
      }
    },
    redact(text) {
      let clean = text;
      for (const [form, name] of forms) if (clean.includes(form)) clean = clean.split(form).join(nameOf(name));
      return clean;
    },
    stream() {
      if (forms.length === 0) return null;
      const texts = forms.map(([form]) => form);
      return cleanStream(texts, secrets.redact, (broken) => nameOf(forms.find(([form]) => form === broken)?.[1] ?? ''));
    },
    redactJson(value) {
      if (forms.length === 0) return value;
      const text = JSON.stringify(value) ?? ''; // of undefined and functions JSON says nothing
      return secrets.redact(text) === text ? value : (redactParts(value, secrets.redact) as typeof value);
    },
    redactError(error) {
      if (forms.length === 0) return error;
      const whole = inspect(error);
      if (secrets.redact(whole) === whole) return error;
      const { cure, where, retryable, statusCode } = error instanceof PithError ? error : ({} as Partial<PithError>);
      return new PithError(codeOf(error, 'internal'), secrets.redact(messageOf(error)), {
        cure: cure && secrets.redact(cure),
        where: where && secrets.redact(where),
        retryable,
        statusCode,
      });
    },
  };
  return secrets;
}

function nameOf(name: string): string {
  return `[secret ${name}]`;
}

/**
 * An address of a server, which errors must be able to name. One that can hold a secret is none: with credentials or a query, or
 * with a part of its path as long as a token.
 */
function isAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash, pathname } = new URL(value);
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '' || search !== '' || hash !== '') return false;
  return pathname.split('/').every((part) => part.length < SHORTEST_TOKEN);
}

const SHORTEST_TOKEN = 16;

function passwordIn(proxy: string): string | null {
  const text = proxy.includes('://') ? proxy : `http://${proxy}`;
  const { password } = URL.canParse(text) ? new URL(text) : { password: '' };
  try {
    return decodeURIComponent(password) || null;
  } catch {
    return password; // a % that stands for itself
  }
}

function redactParts(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((part) => redactParts(part, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [redact(key), redactParts(part, redact)]));
}

function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const base64 = bytes.toString('base64');
  const hex = bytes.toString('hex');
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    hex,
    hex.toUpperCase(),
  ];
  return [...new Set(forms)];
}

/** Less than this of a secret's beginning says nothing. */
const SHORTEST_BEGINNING = 6;

/** A text of which `forms` must not be seen, as it comes piece by piece: only what may be the beginning of one is held back. */
function cleanStream(forms: readonly string[], redact: (text: string) => string, broken: (form: string) => string): CleanStream {
  let held = '';
  return {
    feed(piece) {
      const text = held + piece;
      const end = whole(text, forms);
      held = text.slice(end);
      return end === 0 ? '' : redact(text.slice(0, end));
    },
    end() {
      const text = redact(held);
      const begun = text === held ? forms.find((form) => isMuchOf(form, text)) : undefined;
      held = '';
      return begun === undefined ? text : broken(begun);
    },
  };
}

/** An answer may break off within a secret: most of it is as good as all of it. */
function isMuchOf(form: string, text: string): boolean {
  return text.length >= SHORTEST_BEGINNING && text.length * 2 >= form.length && form.startsWith(text);
}

/** How much of `text` is sure not to end within a form. */
function whole(text: string, forms: readonly string[]): number {
  let end = text.length;
  for (const form of forms) end = Math.min(end, beginningAt(text, form));
  // What is found whole must not be cut in two.
  for (let before = text.length; before !== end;) {
    before = end;
    for (const form of forms) {
      const at = text.lastIndexOf(form, end - 1);
      if (at >= 0 && at < end && at + form.length > end) end = at;
    }
  }
  return end;
}

/** Where the longest beginning of `form` is at the end of `text`; its length when there is none. */
function beginningAt(text: string, form: string): number {
  const first = form[0] as string;
  for (let at = text.indexOf(first, Math.max(0, text.length - form.length + 1)); at >= 0; at = text.indexOf(first, at + 1)) {
    if (form.startsWith(text.slice(at))) return at;
  }
  return text.length;
}

export interface StoredSecret {
  readonly value: string;
  /** Whom a person gave it for, as `recipientOf` writes them. */
  readonly for: readonly string[];
}

/** Secrets that a person gave, by name: `secrets.json` in `~/.pith`, which nobody else may read. The environment wins over it. */
export interface SecretsFile {
  readonly file: string;
  /** null when it is not there. */
  get(name: string): StoredSecret | null;
  /** All of them. */
  all(): Readonly<Record<string, StoredSecret>>;
  /** Durable when it returns. null takes it out. Throws `settings_invalid` when the file cannot be read or written. */
  set(name: string, secret: StoredSecret | null): void;
}

export function openSecretsFile(home: string): SecretsFile {
  const place = path.join(home, '.pith');
  const folder = stateFolder(existsSync(place) ? realpathSync(place) : place); // a person may keep it elsewhere, by a link
  const file = path.join(folder.path, FILE);
  let known: { readonly stamp: string; readonly values: Readonly<Record<string, StoredSecret>> } = { stamp: '', values: {} };
  /** Read again when it has changed: another process may have written it. */
  const read = (): Readonly<Record<string, StoredSecret>> => {
    const stamp = folder.stamp(FILE);
    if (stamp !== known.stamp) known = { stamp, values: parse(folder) };
    return known.values;
  };
  const readable = (): Readonly<Record<string, StoredSecret>> => {
    try {
      return read();
    } catch {
      return {}; // whoever sets one sees why
    }
  };
  return {
    file,
    get: (name) => Object.entries(readable()).find(([known]) => known === name)?.[1] ?? null,
    all: readable,
    set(name, secret) {
      try {
        withFileLock(folder, FILE, () => {
          const { [name]: _, ...rest } = read();
          folder.writeNow(FILE, `${JSON.stringify(secret === null ? rest : { ...rest, [name]: secret }, null, 2)}\n`);
        });
      } catch (error) {
        if (error instanceof PithError && error.code === 'trust_failed') throw error; // another process holds the lock
        throw new PithError('settings_invalid', `the secrets cannot be kept: ${messageOf(error)}`, {
          where: file,
          cure: systemCure(error, folder.path) ?? (existsSync(file) ? 'repair the file, or move it away' : `make ${folder.path} writable`),
        });
      }
    },
  };
}

const FILE = 'secrets.json';

/** The reason never quotes the text. */
function parse(folder: StateFolder): Readonly<Record<string, StoredSecret>> {
  const text = folder.read(FILE);
  if (text === null) return {};
  let read: unknown;
  try {
    read = JSON.parse(String(text));
  } catch (error) {
    throw new Error('it is not JSON', { cause: error });
  }
  if (!isPlainMap(read)) throw new Error('it is not a map of names');
  return Object.fromEntries(
    Object.entries(read).flatMap(([name, given]) => {
      const secret = secretOf(given);
      return secret === null ? [] : [[name, secret]];
    }),
  );
}

/** A text alone is from before secrets had recipients. null: nothing that was ever written here. */
function secretOf(given: unknown): StoredSecret | null {
  if (typeof given === 'string') return { value: given, for: [DEFAULT_RECIPIENT] };
  if (!isPlainMap(given) || typeof given['value'] !== 'string') return null;
  const recipients: unknown = given['for'];
  return { value: given['value'], for: Array.isArray(recipients) ? recipients.filter((one) => typeof one === 'string') : [] };
}

/** An extension that may ask. */
interface SecretUser {
  readonly id: string;
  readonly manifest: Manifest | null;
}

/** Who asks for a secret, in the words in which the file of secrets says whom one was given for. */
export interface Asker {
  /** `extension:weather`, `provider:openai https://api.openai.com`, `mcp:files npx server`. */
  readonly recipient: string;
  /** It came with Pith, and asks for what its own manifest declares, for itself or for the address that everybody has. */
  readonly isDefault: boolean;
}

/** Whom a secret counts for that was kept before secrets had recipients. */
export const DEFAULT_RECIPIENT = 'usual';

/**
 * What an extension says of its parts counts only where it came with Pith: of other code nobody knows where it sends things, and a prefix
 * can be claimed by several.
 */
export function askerOf(
  { id, manifest }: SecretUser,
  shipped: boolean,
  name: string,
  use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]>,
): Asker {
  const part = shipped ? use?.part : undefined;
  const offered = manifest?.models.some(({ prefix }) => prefix === part);
  const who = part === undefined ? `extension:${id}` : `${offered ? 'provider' : id}:${part}`;
  const isDefault = shipped && manifest?.secrets.includes(name) === true && (use === undefined || use.isDefault === true);
  return { recipient: use === undefined ? who : `${who} ${placeOf(use.to)}`, isDefault: isDefault };
}

/** A person may give an extension a secret without saying where it sends it; a provider or a server only with its address. */
export function isGivenFor(recipients: readonly string[], { recipient, isDefault }: Asker): boolean {
  if (recipients.includes(recipient) || (isDefault && recipients.includes(DEFAULT_RECIPIENT))) return true;
  const [who = ''] = recipient.split(' ', 1);
  return who.startsWith('extension:') && recipients.includes(who);
}

/** Whether this extension could be meant, whatever of it asks: what does not concern it never reaches its process. */
export function concerns(recipient: string, { id, manifest }: SecretUser, shipped: boolean): boolean {
  if (recipient === `extension:${id}` || recipient.startsWith(`extension:${id} `)) return true;
  if (!shipped) return false;
  const models = manifest?.models ?? [];
  return (
    recipient === DEFAULT_RECIPIENT ||
    recipient.startsWith(`${id}:`) ||
    models.some(({ prefix }) => recipient.startsWith(`provider:${prefix} `))
  );
}

/** As a person writes one. Throws `usage`. */
export function recipientOf(text: string): string {
  const [, who = '', to = ''] = /^([a-z][a-z0-9_]*:[a-z][a-z0-9_-]*)(?: +(\S.*))?$/su.exec(text.trim()) ?? [];
  const isWhole = who !== '' && (who.startsWith('extension:') || to !== '');
  if (isWhole) return to === '' ? who : `${who} ${placeOf(to)}`;
  throw new PithError('usage', `wrong use of --for: ${JSON.stringify(text)} is nobody to give a secret`, {
    cure: "write extension:ID, or a provider with its address: --for 'provider:openai https://api.openai.com'; see: pith secrets list",
  });
}

/** Names both sides, and the command that gives it. */
export function notGiven(name: string, recipients: readonly string[], { recipient }: Asker): PithError {
  const whom =
    recipients.map((one) => (one === DEFAULT_RECIPIENT ? 'the usual addresses of what ships with Pith' : one)).join(', ') || 'nobody';
  return new PithError('secret_not_given', `the secret '${name}' was given for ${whom}, and not for ${recipient}, which asks for it`, {
    cure: `${recipient.startsWith('provider:') ? 'connect a model here: pith setup; or, ' : ''}if that is right, run: pith secrets allow ${name} --for ${quoted(recipient)}`,
  });
}

/** Of an address only its origin says who gets what is sent there; anything else is a command, and every word of it counts. */
function placeOf(to: string): string {
  return /^https?:\/\//i.test(to) && URL.canParse(to) ? new URL(to).origin : printableLine(to).trim();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
