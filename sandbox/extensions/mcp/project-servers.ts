import { existsSync } from 'node:fs';
import path from 'node:path';
import { codeOf, messageOf, type Places, z } from 'pith';
import { isPlainMap, sha256 } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';
import { address, readEntry, type ServerConfig } from './config.ts';
import { word } from './secrets.ts';

const FILE = '.mcp.json';
const MOST_BYTES = 256 * 1024;
const MOST_SERVERS = 50;
/** What is longer is too much to be read before a person agrees to it. */
const MOST_CHARACTERS = 8000;

/** A server that the project's `.mcp.json` names. */
export interface ProjectServer {
  readonly name: string;
  readonly config: ServerConfig;
  /** Of all that decides what it is: a person's yes is for this. */
  readonly digest: string;
}

export interface ProjectServers {
  readonly servers: readonly ProjectServer[];
  /** Entries that cannot be used, and why. The file itself is `.mcp.json`. */
  readonly unusable: ReadonlyMap<string, string>;
}

const NONE: ProjectServers = { servers: [], unusable: new Map() };

/** Those of a project that a person trusts and whose `.mcp.json` they were shown. Names are those that Pith uses: small letters, digits, `_` and `-`. */
export function projectServers({ project, projectFiles }: Pick<Places, 'project' | 'projectFiles'>): ProjectServers {
  if (project === null) return NONE;
  if (!projectFiles.includes(path.join(project, FILE)))
    return existsSync(path.join(project, FILE)) ? refusedFile('you were not shown it when you trusted the project; run: pith trust') : NONE;
  let text = '';
  let given: unknown;
  try {
    const bytes = stateFolder(project).read(FILE, MOST_BYTES);
    if (bytes === null) return NONE;
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    given = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return refusedFile(`line ${lineOf(error, text)} is not JSON`);
    return refusedFile(codeOf(error, '') === 'ENOENT' ? 'it is gone' : messageOf(error));
  }
  const named = isPlainMap(given) ? given['mcpServers'] : null;
  return isPlainMap(named) ? readServers(Object.entries(named), project) : refusedFile("it has no map 'mcpServers'");
}

function refusedFile(why: string): ProjectServers {
  return { servers: [], unusable: new Map([[FILE, why]]) };
}

/** Where JSON breaks off: the engine says a position, or words near it, or that the end is missing. */
function lineOf({ message }: SyntaxError, text: string): number {
  const [, position = null] = /at position (\d+)/u.exec(message) ?? [];
  const [, cut = '', near = null] = /^Unexpected token .+?, (\.\.\.)?"([^]*)"(?:\.\.\.)? is not valid JSON$/u.exec(message) ?? [];
  const at =
    position !== null
      ? Number(position)
      : near === null
        ? text.length
        : text.indexOf(near) + (cut === '' ? near.indexOf(message[18] ?? '') : NEAR);
  return text.slice(0, at).split('\n').length;
}

/** Characters before the wrong one that the engine repeats. */
const NEAR = 10;

function readServers(entries: readonly (readonly [string, unknown])[], project: string): ProjectServers {
  const servers = new Map<string, ProjectServer>();
  const unusable = new Map<string, string>();
  for (const [given, entry] of entries.slice(0, MOST_SERVERS)) {
    const name = nameOf(given);
    const config = name === null ? 'its name has no letter to begin with' : readServer(entry, project);
    if (name === null || typeof config === 'string') unusable.set(printableLine(given, 60), String(config));
    else if (servers.has(name)) unusable.set(printableLine(given, 60), `another server has the name '${name}'`);
    else servers.set(name, { name, config, digest: digestOf(name, config) });
  }
  if (entries.length > MOST_SERVERS) unusable.set(FILE, `only its first ${MOST_SERVERS} servers are read`);
  return { servers: [...servers.values()], unusable };
}

const texts = z.record(z.string(), z.string()).default({});
const common = { disabled: z.boolean().optional() };
const local = z.object({ ...common, command: z.string().min(1), args: z.array(z.string()).default([]), env: texts });
const remote = z.object({ ...common, url: address, headers: texts });
const LOCAL = ['stdio'];
const REMOTE = ['http', 'streamable-http', 'streamableHttp'];

/** The file is of a foreign format: what Pith does not know in it is left alone. A text says why an entry cannot be used. */
function readServer(given: unknown, project: string): ServerConfig | string {
  const isRemote = isPlainMap(given) && 'url' in given;
  const type = isPlainMap(given) ? (given['type'] ?? given['transport']) : undefined;
  if (type !== undefined && !(isRemote ? REMOTE : LOCAL).includes(String(type)))
    return `its type ${printableLine(JSON.stringify(type), 40)} is not one that Pith can use`;
  const read = readEntry({ local, remote }, given);
  if ('why' in read) return printableLine(read.why, 300);
  const { disabled = false, ...rest } = read.entry;
  const settings = {
    enabled: !disabled,
    tools: { deny: [] as string[] },
    approvals: 'never-for-read-only' as const,
    timeout: 60,
    start_timeout: 60,
  };
  const config: ServerConfig = 'url' in rest ? { ...settings, ...rest, oauth: {} } : { ...settings, ...rest, cwd: project };
  return shownServer(config).join('\n').length > MOST_CHARACTERS ? 'it is too long to be shown before you agree to it' : config;
}

/** Other tools allow more in a name. null: nothing of it can be used. */
function nameOf(given: string): string | null {
  const name = given
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/gu, '_')
    .slice(0, 24);
  return /^[a-z]/.test(name) ? name : null;
}

/** What a person reads before they agree: what runs or is reached, and with what. */
export function shownServer(config: ServerConfig): readonly string[] {
  const values = (given: Readonly<Record<string, string>>, between: string) =>
    Object.entries(given).map(([name, value]) => `  with ${printableLine(`${name}${between}${value}`)}`);
  if ('url' in config) return [`reaches ${printableLine(config.url)}`, ...values(config.headers, ': ')];
  const words = [config.command, ...config.args].map(word);
  return [`runs ${printableLine(words.join(' '))}`, `  in ${printableLine(config.cwd ?? '')}`, ...values(config.env, '=')];
}

function digestOf(name: string, config: ServerConfig): string {
  const parts = 'url' in config ? [config.url, pairs(config.headers)] : [config.command, config.args, pairs(config.env), config.cwd];
  return sha256(JSON.stringify([name, ...parts]));
}

function pairs(given: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
}
