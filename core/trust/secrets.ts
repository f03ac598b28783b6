import path from 'node:path';
import { inspect } from 'node:util';
import { codeOf, messageOf, PithError, type ExtensionContext } from '../contract/index.ts';
import { isPlainMap } from '@pith/plain-data';
import { takesNamedServers, type Manifest } from './manifest.ts';
import { openRecordFile } from './record-file.ts';
import { pithFolder } from './trust-file.ts';
import type { EnvironmentFile } from './environment-file.ts';
import { printableLine } from '@pith/plain-text';

/** A text in chunks, cleaned of secrets. */
export interface CleanStream {
  /** The next text that can be shown. */
  feed(piece: string): string;
  /** The rest, after the last chunk. */
  end(): string;
}

/** Removes the values of declared secrets from models' texts: a server may repeat its key. */
export interface Cleaning {
  /** `text` with the declared values (plain, in JSON, base64, hex and URL form) replaced by their names. */
  redact(text: string): string;
  /** As `redact`, for a text in chunks; null while there is nothing to hide. */
  stream(): CleanStream | null;
  /** Where the declared secrets that a text names come from, one sentence for those that are set; empty where there is none. */
  sourcesIn(text: string): readonly string[];
  /** As `redact`, for every text in plain JSON; `value` itself where there is nothing to hide. */
  redactJson<T>(value: T): T;
  /** The error without secrets; `error` itself where it contains none. */
  redactError(error: unknown): unknown;
}

/** Secrets come from the environment, else from the user's file of secrets, by declared names only. Their values never appear in text. */
export interface Secrets extends Cleaning {
  /** null when it is not set, or this recipient needs none. Throws `secret_not_given` where a person stored it for other recipients only. */
  get(name: string, asker: Asker): string | null;
  /** Whether it is set, for any recipient. */
  isSet(name: string): boolean;
  /**
   * What an extension's process gets of it: values only where they were given for one of the extension's own recipients. Empty when it is
   * not set.
   */
  share(name: string, isOwn: (recipient: string) => boolean): readonly SharedSecret[];
  /** From now on, hides the value of `name` in every text, unless it is only a server's address. */
  declare(names: Iterable<string>): void;
}

/** The sources of secrets. */
export interface SecretSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Stored secrets, used where the environment has none. */
  readonly stored?: SecretsFile | undefined;
  /** Secrets of a trusted project, used where neither of them has one; for everybody who declares them, as with the environment. */
  readonly project?: EnvironmentFile | undefined;
}

/** A secret in the form that a process gets. */
export interface SharedSecret {
  /** null: it was given for other recipients only. */
  readonly value: string | null;
  /** null: it is from the environment, and for everybody who declares it. */
  readonly for: readonly string[] | null;
}

/** Hiding shorter values would make every text unreadable and protect nothing. */
const SHORTEST = 6;
/** Proxy variables: only a password in the value is a secret. */
const PROXY = /^(?:HTTPS?|ALL|NO)_PROXY$/;

/** A source without a version never changes. */
type Versioned<Source extends { get(name: string): unknown; version(): string }> = Pick<Source, 'get'> & Partial<Pick<Source, 'version'>>;

export function createSecrets(
  env: Readonly<Record<string, string | undefined>>,
  stored?: Versioned<SecretsFile>,
  project?: Versioned<EnvironmentFile>,
): Secrets {
  const declared = new Set<string>();
  /** The texts to hide with their secrets' names. Longest first, since one may begin with another. A replaced value stays. */
  let forms: readonly (readonly [form: string, name: string])[] = [];
  const inEnv = (name: string): string => (PROXY.test(name) && env[name.toLowerCase()]) || env[name] || ''; // proxy variables are written in either case
  const inProject = (name: string): string | null => (PROXY.test(name) ? null : (project?.get(name) ?? null)); // a project never configures a proxy
  const keptOf = (name: string): readonly StoredSecret[] => (inEnv(name) ? [] : (stored?.get(name) ?? []));
  const valuesOf = (name: string): readonly string[] => {
    const kept = keptOf(name).flatMap(({ value }) => value || []);
    return kept.length > 0 ? kept : [inEnv(name) || (inProject(name) ?? [])].flat();
  };
  const sourceOf = (name: string): string | null => {
    if (inEnv(name)) return 'the environment';
    if (keptOf(name).some(({ value }) => value !== '')) return '~/.pith/secrets.json, where pith setup keeps it';
    return inProject(name) === null ? null : "the project's .env";
  };
  const versions = (): string => `${stored?.version?.() ?? ''}\n${project?.version?.() ?? ''}`;
  let collected = versions();
  /** The texts to hide, with what a source has been given since. */
  const current = (): typeof forms => {
    const now = versions();
    if (now !== collected) {
      collected = now;
      secrets.declare(declared);
    }
    return forms;
  };
  const secrets: Secrets = {
    get(name, asker) {
      if (declared.has(name)) secrets.declare([name]); // it may have been given since
      const kept = keptOf(name);
      const own = kept.find((each) => each.for.includes(asker.recipient)) ?? kept.find((each) => isGivenFor(each.for, asker));
      if (own !== undefined) return own.value || null;
      const others = kept.filter(({ value }) => value !== '');
      if (others.length > 0) throw notGiven(name, others, asker);
      return inEnv(name) || inProject(name);
    },
    sourcesIn(text) {
      const words = new Set(text.match(/\w+/g));
      return [...declared].flatMap((name) => {
        const source = words.has(name) ? sourceOf(name) : null;
        return source === null ? [] : [`${name} comes from ${source}`];
      });
    },
    isSet: (name) => valuesOf(name).length > 0,
    share(name, isOwn) {
      if (declared.has(name)) secrets.declare([name]); // it may have been given since
      const kept = keptOf(name).flatMap((each): readonly SharedSecret[] => {
        const own = each.for.filter(isOwn);
        if (own.length > 0) return [{ value: each.value, for: own }];
        return each.value === '' ? [] : [{ value: null, for: each.for }];
      });
      const open = inEnv(name) || inProject(name);
      return kept.length > 0 || open === null ? kept : [{ value: open, for: null }];
    },
    declare(names) {
      for (const name of names) {
        declared.add(name);
        for (const given of valuesOf(name)) {
          const value = PROXY.test(name) ? passwordIn(given) : given;
          if (value === null || value.length < SHORTEST || isAddress(value)) continue;
          if (forms.some(([form, owner]) => form === value && owner === name)) continue;
          const own = formsOf(value).map((form) => [form, name] as const);
          forms = [...forms, ...own].sort(([a], [b]) => b.length - a.length);
        }
      }
    },
    redact(text) {
      let clean = text;
      for (const [form, name] of current()) if (clean.includes(form)) clean = clean.split(form).join(nameOf(name));
      return clean;
    },
    stream() {
      if (current().length === 0) return null;
      const texts = forms.map(([form]) => form);
      return cleanStream(texts, secrets.redact, (broken) => nameOf(forms.find(([form]) => form === broken)?.[1] ?? ''));
    },
    redactJson(value) {
      if (current().length === 0) return value;
      const text = JSON.stringify(value) ?? ''; // JSON.stringify returns undefined for undefined and functions
      return secrets.redact(text) === text ? value : (redactParts(value, secrets.redact) as typeof value);
    },
    redactError(error) {
      if (current().length === 0) return error;
      const whole = inspect(error, { depth: 8, maxStringLength: Infinity, maxArrayLength: Infinity });
      if (secrets.redact(whole) === whole) return error;
      const data: Partial<PithError> = error instanceof PithError ? { ...error } : {};
      return new PithError(codeOf(error, 'internal'), secrets.redact(messageOf(error)), {
        ...data,
        cure: data.cure && secrets.redact(data.cure),
        where: data.where && secrets.redact(data.where),
        problems: data.problems?.map(({ path, message }) => ({ path, message: secrets.redact(message) })),
      });
    },
  };
  return secrets;
}

function nameOf(name: string): string {
  return `[secret ${name}]`;
}

/**
 * Whether the value is only a server's address, which errors must be able to show. False where it may contain a secret: with credentials or
 * a query, or with a path segment as long as a token.
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
    return password; // a literal %
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

/** A shorter prefix of a secret reveals nothing. */
const SHORTEST_BEGINNING = 6;

/** Cleans a text in chunks of `forms`: holds back only what may be the start of one. */
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

/** An answer may break off within a secret, and most of a secret is as good as all of it. */
function isMuchOf(form: string, text: string): boolean {
  return text.length >= SHORTEST_BEGINNING && text.length * 2 >= form.length && form.startsWith(text);
}

/** The length of `text` that surely does not end within a form. */
function whole(text: string, forms: readonly string[]): number {
  let end = text.length;
  for (const form of forms) end = Math.min(end, beginningAt(text, form));
  // A complete match must not be cut in two.
  for (let before = text.length; before !== end;) {
    before = end;
    for (const form of forms) {
      const at = text.lastIndexOf(form, end - 1);
      if (at >= 0 && at < end && at + form.length > end) end = at;
    }
  }
  return end;
}

/** Where the longest prefix of `form` begins at the end of `text`; its length when there is none. */
function beginningAt(text: string, form: string): number {
  const first = form[0] as string;
  for (let at = text.indexOf(first, Math.max(0, text.length - form.length + 1)); at >= 0; at = text.indexOf(first, at + 1)) {
    if (form.startsWith(text.slice(at))) return at;
  }
  return text.length;
}

export interface StoredSecret {
  /** Empty: a person said that these recipients need none. */
  readonly value: string;
  /** The recipients it was given for, in the form of `recipientOf`. */
  readonly for: readonly string[];
}

/** The secrets that a person stored, by name: `secrets.json` in `~/.pith`, which nobody else may read. The environment overrides it. */
export interface SecretsFile {
  readonly file: string;
  /** The values of a name, each for other recipients; empty when none is stored. */
  get(name: string): readonly StoredSecret[];
  /** Another one after each change of the file. */
  version(): string;
  /** All of them. */
  all(): StoredSecrets;
  /** Why none of them can be read; null: they can. */
  problem(): string | null;
  /**
   * Stores a value beside those for other recipients. Durable when it returns. Throws `settings_invalid` when the file cannot be read or
   * written.
   */
  keep(name: string, secret: StoredSecret): void;
  /** Removes what these recipients have; null: all. As durable, and throws the same. */
  remove(name: string, recipients: readonly string[] | null): void;
}

type StoredSecrets = Readonly<Record<string, readonly StoredSecret[]>>;

export function openSecretsFile(home: string): SecretsFile {
  const folder = pithFolder(home);
  const record = openRecordFile<SecretsRecord>(folder, {
    name: FILE,
    nothing: { secrets: {}, unread: {} },
    parse,
    format,
    failure: { code: 'settings_invalid', message: 'the secrets cannot be kept' },
  });
  const change = (name: string, to: (kept: readonly StoredSecret[]) => readonly StoredSecret[]) =>
    record.change(({ secrets, unread }) => ({ secrets: { ...secrets, [name]: to(listOf(secrets, name)) }, unread }));
  return {
    file: path.join(folder.path, FILE),
    get: (name) => listOf(record.read().secrets, name),
    all: () => Object.fromEntries(Object.entries(record.read().secrets).filter(([, kept]) => kept.length > 0)),
    version: () => record.version(),
    problem: () => record.problem(),
    keep: (name, secret) => change(name, (kept) => withSecret(kept, secret)),
    remove: (name, recipients) => {
      if (recipients !== null) change(name, (kept) => withoutRecipients(kept, recipients));
      else record.change(({ secrets, unread }) => ({ secrets: { ...secrets, [name]: [] }, unread: { ...unread, [name]: [] } }));
    },
  };
}

/** A value that is there already gets the recipients. */
function withSecret(kept: readonly StoredSecret[], secret: StoredSecret): readonly StoredSecret[] {
  const others = withoutRecipients(kept, secret.for);
  const same = others.find(({ value }) => value === secret.value);
  if (same === undefined) return [...others, secret];
  return others.map((each) => (each === same ? { ...each, for: [...each.for, ...secret.for] } : each));
}

function withoutRecipients(kept: readonly StoredSecret[], recipients: readonly string[]): readonly StoredSecret[] {
  return kept.flatMap((each) => {
    const left = each.for.filter((one) => !recipients.includes(one));
    return left.length === 0 && each.for.length > 0 ? [] : [{ ...each, for: left }];
  });
}

const FILE = 'secrets.json';

interface SecretsRecord {
  readonly secrets: StoredSecrets;
  /** By name, what is in no format of this file: it stays as it is, for who wrote it. */
  readonly unread: Readonly<Record<string, readonly unknown[]>>;
}

function parse(read: unknown): SecretsRecord {
  if (!isPlainMap(read)) throw new Error('it is not a map of names');
  const lists = Object.entries(read).map(([name, given]) => [name, [given].flat()] as const);
  return {
    secrets: Object.fromEntries(lists.map(([name, given]) => [name, given.flatMap((each) => secretOf(each) ?? [])])),
    unread: Object.fromEntries(lists.map(([name, given]) => [name, given.filter((each) => secretOf(each) === null)])),
  };
}

/** A lone value is no list: as before there could be several. */
function format({ secrets, unread }: SecretsRecord): object {
  const names = [...new Set([...Object.keys(secrets), ...Object.keys(unread)])];
  const lists = names.map((name) => [name, [...listOf(secrets, name), ...listOf(unread, name)]] as const);
  return Object.fromEntries(lists.flatMap(([name, all]) => (all.length === 0 ? [] : [[name, all.length === 1 ? all[0] : all]])));
}

function listOf<T>(lists: Readonly<Record<string, readonly T[]>>, name: string): readonly T[] {
  return Object.hasOwn(lists, name) ? (lists[name] ?? []) : [];
}

/** A plain text is from a version without recipients. null: not in any format of this file. */
function secretOf(given: unknown): StoredSecret | null {
  if (typeof given === 'string') return { value: given, for: [DEFAULT_RECIPIENT] };
  if (!isPlainMap(given) || typeof given['value'] !== 'string') return null;
  const recipients: unknown = given['for'];
  return { value: given['value'], for: Array.isArray(recipients) ? recipients.filter((one) => typeof one === 'string') : [] };
}

/** An extension that may request secrets. */
interface SecretUser {
  readonly id: string;
  readonly manifest: Manifest | null;
}

/** Who requests a secret, in the form in which the file of secrets names recipients. */
export interface Asker {
  /** `extension:weather`, `provider:openai https://api.openai.com`, `mcp:files npx server`. */
  readonly recipient: string;
  /** A shipped extension that requests a secret of its own manifest, for itself or for the provider's default address. */
  readonly isDefault: boolean;
}

/** The recipient of secrets that were stored before there were recipients. */
export const DEFAULT_RECIPIENT = 'usual';

/**
 * What an extension says about its parts counts only for shipped extensions: nobody knows where other code sends a secret, and several may
 * claim a prefix.
 */
export function askerOf(
  { id, manifest }: SecretUser,
  shipped: boolean,
  name: string,
  use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]>,
): Asker {
  const part = shipped ? use?.part : undefined;
  const offered = takesNamedServers({ manifest, shipped }) || manifest?.models.some(({ prefix }) => prefix === part);
  const who = part === undefined ? `extension:${id}` : `${offered ? 'provider' : id}:${part}`;
  const isDefault = shipped && manifest?.secrets.includes(name) === true && (use === undefined || use.isDefault === true);
  return { recipient: use === undefined ? who : `${who} ${placeOf(use.to)}`, isDefault: isDefault };
}

/** A person may give a secret to an extension without an address; to a provider or a server only with its address. */
export function isGivenFor(recipients: readonly string[], { recipient, isDefault }: Asker): boolean {
  if (recipients.includes(recipient) || (isDefault && recipients.includes(DEFAULT_RECIPIENT))) return true;
  const [who = ''] = recipient.split(' ', 1);
  return who.startsWith('extension:') && recipients.includes(who);
}

/** Whether the recipient could be this extension or a part of it: other secrets never reach its process. */
export function concerns(recipient: string, { id, manifest }: SecretUser, shipped: boolean): boolean {
  if (recipient === `extension:${id}` || recipient.startsWith(`extension:${id} `)) return true;
  if (!shipped) return false;
  const models = manifest?.models ?? [];
  return (
    recipient === DEFAULT_RECIPIENT ||
    recipient.startsWith(`${id}:`) ||
    (takesNamedServers({ manifest, shipped }) && recipient.startsWith('provider:')) ||
    models.some(({ prefix }) => recipient.startsWith(`provider:${prefix} `))
  );
}

/** The recipient that a person typed. Throws `usage`. */
export function recipientOf(text: string): string {
  const [, who = '', to = ''] = /^([a-z][a-z0-9_]*:[a-z][a-z0-9_-]*)(?: +(\S.*))?$/su.exec(text.trim()) ?? [];
  const isWhole = who !== '' && (who.startsWith('extension:') || to !== '');
  if (isWhole) return to === '' ? who : `${who} ${placeOf(to)}`;
  throw new PithError('usage', `wrong use of --for: ${JSON.stringify(text)} is not a recipient of secrets`, {
    cure: "write extension:ID, or a provider with its address: --for 'provider:openai https://api.openai.com'; see: pith secrets list",
  });
}

/** The error names both sides, and the command that gives the secret. */
export function notGiven(name: string, kept: readonly StoredSecret[], { recipient }: Asker): PithError {
  const recipients = kept.flatMap((each) => each.for);
  const whom =
    recipients.map((one) => (one === DEFAULT_RECIPIENT ? 'the default addresses of what ships with Pith' : one)).join(', ') || 'nobody';
  const verb = kept.length === 1 ? 'allow' : 'set'; // which of several is meant nobody knows
  return new PithError('secret_not_given', `the secret '${name}' was given for ${whom}, and not for ${recipient}, which asks for it`, {
    cure: `${recipient.startsWith('provider:') ? 'connect a model here: pith setup; or, ' : ''}if that is right, run: pith secrets ${verb} ${name} --for ${quoted(recipient)}`,
  });
}

/** Of an address only the origin counts, since it decides who receives the secret; of a command every word counts. */
function placeOf(to: string): string {
  return /^https?:\/\//i.test(to) && URL.canParse(to) ? new URL(to).origin : printableLine(to).trim();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
