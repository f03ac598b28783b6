import type { Positions } from '@pith/checked-yaml';
import { isPlainMap } from '@pith/plain-data';
import type { Diagnostic, TopicMap } from '../contract/index.ts';
import { type Manifest, manifestAsks } from '../trust/index.ts';

/** What stopped an extension. */
export type Failure = TopicMap['extension.failed'];

/** A folder with a `manifest.yaml`, or with an agent that an extension reads, as it is on disk. Plain data: the persisted index keeps it. */
export interface Declaration {
  /** The folder's name. */
  readonly id: string;
  readonly directory: string;
  /** What declares it. */
  readonly file: string;
  /** null when the file is broken, and then `diagnostics` say why, or when an extension reads it. */
  readonly manifest: Manifest | null;
  /** It is asked before tool calls: its file names `guard` in `provides`, or a person agreed to it as one, which counts until they take that back. */
  readonly guard?: 'named' | 'agreed';
  /** The extension that names this file in its `agent_files`. */
  readonly readBy?: string;
  /** The prompt template beside the manifest: `prompt.jinja2`, `prompt.j2` or `prompt.njk`. */
  readonly prompt: { readonly file: string; readonly text: string } | null;
  /** Found in Pith's own sandbox. */
  readonly shipped: boolean;
  /** It is in a sandbox of one's own in the place of what ships under this id, and has its names. */
  readonly replacesShipped?: true;
  /** Hash over relative paths and bytes of the folder's files; changes when any of them does. */
  readonly digest: string;
  /** As `digest`, of all but the manifest. Absent: no folder declares it. */
  readonly codeDigest?: string;
  /** Its `contract.ts`, which its dependants import. Absent: it has none. */
  readonly contract?: Contract;
  readonly diagnostics: readonly Diagnostic[];
  /** `[line, column]` in `file` by dotted path. */
  readonly positions?: Positions;
  /** What it may use of what it depends on defines. Absent: nothing. */
  readonly imports?: Imports;
  /** Another extension declares it, with its entrypoint as text. Absent: a folder does. */
  readonly dynamic?: { readonly by: string; readonly main: string };
  /** What its folder asks for and does not have: `manifest` is without it. Absent: nothing. */
  readonly withheld?: readonly { readonly ask: string; readonly never: string | null }[];
}

/** What its manifest asks for and it has. */
export function grantedAsks({ manifest, withheld = [] }: Declaration): readonly string[] {
  return manifest === null ? [] : manifestAsks(manifest).filter((ask) => !withheld.some((each) => each.ask === ask));
}

/** Whether its folder asks for that and nobody has agreed. */
export function isWithheld({ withheld = [] }: Declaration, ask: string): boolean {
  return withheld.some((each) => each.ask === ask);
}

/** Whether it narrows what tools may do: nothing but a person's plain word makes it none. */
export function isGuard({ guard }: Pick<Declaration, 'guard'>): boolean {
  return guard !== undefined;
}

/** `enabled`, as it was read of `written`. null: what is written only counts as false. */
export function switchOf(read: boolean, written: unknown): boolean | null {
  return read || (isPlainMap(written) && written['enabled'] === false) ? read : null;
}

/** What other extensions define for one that depends on them. Plain data. */
export interface Imports {
  /** The members of each protocol, and the extension that defines it. */
  readonly protocols: Readonly<Record<string, { readonly by: string; readonly members: readonly string[] }>>;
  readonly topics: Readonly<Record<string, { readonly durable: boolean }>>;
  /** The `contract.ts` of each extension that has one: what it imports as `pith/<id>`. */
  readonly contracts: Readonly<Record<string, Contract>>;
  /** Optional dependencies that nobody declares: what is imported of their contracts is undefined. */
  readonly absent: readonly string[];
}

export interface Contract {
  readonly file: string;
  /** Of its bytes. */
  readonly digest: string;
}

/** Whether it is the id of an extension that another one declares, `<word>:<name>`: no folder has such a name. */
export function isDynamic(id: string): boolean {
  return /^[a-z][a-z0-9_]*:/.test(id);
}

/** By what names rules mean an extension: a dynamic one that is a version, `<word>:<name>@<12 hex digits>`, also by what comes before the @. */
export function namesOfExtension(id: string): readonly string[] {
  const [, name] = (isDynamic(id) ? /^(.+)@[0-9a-f]{12}$/.exec(id) : null) ?? [];
  return name === undefined ? [id] : [id, name];
}

/** The id, or the name in that of a dynamic one. */
export function shortId(id: string): string {
  return isDynamic(id) ? id.slice(id.indexOf(':') + 1) : id;
}

/** Whether the names of its commands, tools and models are those that ship: a stranger's equal name gives way. */
export function keepsNames({ shipped, replacesShipped }: Pick<Declaration, 'shipped' | 'replacesShipped'>): boolean {
  return shipped || replacesShipped === true;
}

/** All declarations and what their edges mean. Immutable; a change on disk makes a new one. */
export interface Discovery {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** By id: broken manifests, cycles, missing or failed hard dependencies. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** Findings that belong to no declaration. */
  readonly diagnostics: readonly Diagnostic[];
}

/** The files that declare things, by the names that people write. */
export const MANIFEST_FILE = 'manifest.yaml';
export const CONTRACT_FILE = 'contract.ts';
/** The first that is there counts. */
export const PROMPT_FILES: readonly string[] = ['prompt.jinja2', 'prompt.j2', 'prompt.njk'];

/** What one folder declares, apart from all others: what the persisted index keeps of it. Plain data. */
export interface FolderRecord {
  /** `FolderStamp.stamps` of the state that was read. */
  readonly stamps: string;
  /** The stamp alone did not prove the state; the digest decides at the next look. */
  readonly fresh: boolean;
  readonly declaration: Omit<Declaration, 'shipped'>;
  /** Keys under `agent:` that an extension must own. */
  readonly extraAgentKeys: readonly string[];
  /** `agent_keys`, also of a manifest with errors elsewhere; null when the file could not be read at all. */
  readonly ownedAgentKeys: readonly string[] | null;
  /** Why the folder could not be read just now: this is what it said before. */
  readonly unread?: Diagnostic;
}

/** What a folder's file says. */
export type FolderReading = Omit<FolderRecord, 'stamps' | 'fresh' | 'declaration' | 'unread'> & {
  readonly declaration: Pick<Declaration, 'file' | 'manifest' | 'guard' | 'readBy' | 'diagnostics' | 'positions'>;
};

/** What calls the class by its handlers: the first such key of a manifest. */
export function handledKey({ events, schedules, jobs }: Manifest): string | undefined {
  const lists = { 'events.handles': events.handles, schedules, jobs };
  return Object.entries(lists).find(([, { length }]) => length > 0)?.[0];
}

/** The methods that `events.handles` and `schedules` name. */
export function handlerNames(manifest: Pick<Manifest, 'events' | 'schedules'> | null): readonly string[] {
  const named = [...(manifest?.events.handles ?? []), ...(manifest?.schedules ?? [])];
  return [...new Set(named.flatMap(({ handler }) => handler ?? []))];
}

/** True for a folder that is an extension: agents without code or contract share the map of declarations. */
export function isExtension(declaration: Declaration): boolean {
  const { manifest, directory, readBy } = declaration;
  if (readBy !== undefined) return false;
  if (isGuard(declaration)) return true;
  const isInItsPlace = /[\\/]extensions[\\/][^\\/]+$/.test(directory);
  if (manifest === null) return isInItsPlace;
  const hasCode = manifest.entrypoint !== undefined || manifest.provides.length > 0;
  return hasCode || isContractOnly(declaration) || (manifest.agent === undefined && isInItsPlace);
}

/** Whether all that it has is for others: what it defines, and a contract that they import. Nothing of it is loaded by itself. */
export function isContractOnly({ manifest, contract }: Declaration): boolean {
  if (manifest === null || manifest.entrypoint !== undefined) return false;
  return contract !== undefined || Object.values(manifest.defines).some((each) => Object.keys(each).length > 0);
}

export function extensionsOf(discovery: Discovery): readonly Declaration[] {
  return [...discovery.declarations.values()].filter(isExtension);
}
