import type { Skill, SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { type ExtensionContext, messageOf, PithError, z } from 'pith';
import { canonicalJson, sha256 } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import type { ServerConfig } from './config.ts';
import type { Connection } from './connection.ts';

const stored = z.object({
  server: z.string(),
  uri: z.string(),
  name: z.string(),
  description: z.string(),
  /** Of the address or the command line of the server: another server of the same name is another. */
  of: z.string(),
  /** Of the whole entry: frontmatter, and address, size and digest of each file. */
  digest: z.string(),
});

/** A skill of a server, as it was when a person agreed to it. */
export type AgreedSkill = z.infer<typeof stored>;

/** Of a skill that a server publishes now. */
export type SkillTrust = 'trusted' | 'untrusted' | 'changed' | 'unverifiable';

export interface PublishedSkill {
  readonly server: string;
  readonly skill: Skill;
  readonly trust: SkillTrust;
}

/** A file of a skill. */
export interface ReadFile {
  readonly uri: string;
  readonly size: number;
  /** null: its bytes are no text. */
  readonly text: string | null;
}

/** What skills of servers need of `Servers`. */
export interface SkillServers {
  configOf(name: string): Promise<ServerConfig | null>;
  /** Waits for none that has not answered yet. */
  connection(name: string): Promise<Connection | null>;
}

/**
 * Skills that servers publish. Each is named by its server and its address, is only read, and is used once a person has agreed to all of its
 * files as they are. That a file has the digest which its server states proves nothing else.
 */
export class ServerSkills {
  constructor(
    private readonly kv: ExtensionContext['kv'],
    private readonly servers: SkillServers,
  ) {}

  /** Those to which a person agreed, of servers that are named now. Asks no server. */
  async agreed(): Promise<readonly AgreedSkill[]> {
    const keys = await this.kv.keys('skill/');
    const found = await Promise.all(keys.map(async (key) => stored.safeParse(await this.kv.get(key)).data));
    const current = await Promise.all(found.map(async (each) => (each !== undefined && (await this.#isCurrent(each)) ? [each] : [])));
    return current.flat();
  }

  /** What a connected server publishes now. null: it publishes no skills. */
  async published(connection: Connection, signal: AbortSignal): Promise<readonly PublishedSkill[] | null> {
    const client = await connection.skills();
    if (client === null) return null;
    const { skills } = await client.list({}, optionsOf(connection, signal));
    return Promise.all(
      skills.map(async (skill) => ({ server: connection.name, skill, trust: await this.#trustIn(connection.name, skill) })),
    );
  }

  /** One skill of a server as it is now, listed or not. Rejects where it is not there. */
  async entry(server: string, uri: string, signal: AbortSignal): Promise<PublishedSkill> {
    const { connection, client } = await this.#reached(server);
    try {
      const { skill } = await client.get(uri, optionsOf(connection, signal));
      return { server, skill, trust: await this.#trustIn(server, skill) };
    } catch (error) {
      throw refused(connection, error);
    }
  }

  /** Records that a person agreed to this skill with all of its files. */
  async agree({ server, skill }: PublishedSkill): Promise<void> {
    const { uri, frontmatter } = skill;
    const { name, description } = frontmatter;
    const config = await this.servers.configOf(server);
    if (config === null) throw unknownServer(server);
    const agreed: AgreedSkill = { server, uri, name, description, of: identityOf(config), digest: digestOf(skill) };
    await this.kv.set(keyOf(server, uri), agreed);
  }

  /** False: nobody had agreed. */
  forget(server: string, uri: string): Promise<boolean> {
    return this.kv.delete(keyOf(server, uri));
  }

  /** One file, asked for now and held to the list to which a person agreed. `path`: relative to the skill; absent: its SKILL.md, without the frontmatter. */
  async read({ server, uri }: Pick<AgreedSkill, 'server' | 'uri'>, path: string | undefined, signal: AbortSignal): Promise<ReadFile> {
    const { skill, trust } = await this.entry(server, uri, signal);
    if (trust !== 'trusted') throw untrusted(server, uri, trust);
    const { connection, client } = await this.#reached(server);
    try {
      const { uri: at, bytes, body, text = decoded(bytes) } = await client.read(skill, path, optionsOf(connection, signal));
      const content = body ?? text;
      return { uri: at, size: bytes.byteLength, text: content === null ? null : connection.withoutSecrets(content) };
    } catch (error) {
      throw refused(connection, error);
    }
  }

  async #trustIn(server: string, skill: Skill): Promise<SkillTrust> {
    if (skill.resources === 'dynamic') return 'unverifiable'; // nobody can agree to files that may be others each time
    const { data } = stored.safeParse(await this.kv.get(keyOf(server, skill.uri)));
    if (data === undefined || !(await this.#isCurrent(data))) return 'untrusted';
    return data.digest === digestOf(skill) ? 'trusted' : 'changed';
  }

  async #isCurrent({ server, of }: AgreedSkill): Promise<boolean> {
    const config = await this.servers.configOf(server);
    return config !== null && identityOf(config) === of;
  }

  async #reached(server: string): Promise<{ readonly connection: Connection; readonly client: SkillsClient }> {
    if ((await this.servers.configOf(server)) === null) throw unknownServer(server);
    const connection = await this.servers.connection(server);
    const client = (await connection?.skills()) ?? null;
    if (connection === null || client === null)
      throw new PithError('mcp_error', `the MCP server '${server}' cannot be reached, or publishes no skills`, { cure: 'see: pith mcp' });
    return { connection, client };
  }
}

function optionsOf({ config }: Connection, signal: AbortSignal) {
  return { signal, timeout: config.timeout * 1000 };
}

function keyOf(server: string, uri: string): string {
  return `skill/${server}/${sha256(uri)}`;
}

function digestOf({ uri, frontmatter, resources }: Skill): string {
  return sha256(canonicalJson({ uri, frontmatter, resources }));
}

function identityOf(config: ServerConfig): string {
  return sha256(canonicalJson('url' in config ? { url: config.url } : { command: config.command, args: config.args }));
}

function unknownServer(server: string): PithError {
  return new PithError('usage', `there is no MCP server '${printableLine(server, 60)}' that may be used`, { cure: 'see: pith mcp' });
}

function untrusted(server: string, uri: string, trust: SkillTrust): PithError {
  const why = {
    untrusted: 'a person has not agreed to it',
    changed: 'its files are others than those to which a person agreed',
    unverifiable: 'its server does not say what its files are',
  }[trust as Exclude<SkillTrust, 'trusted'>];
  return new PithError('skill_not_offered', `the skill ${printableLine(uri, 200)} of the MCP server '${server}' is not used: ${why}`, {
    cure: `a person looks at it with: pith mcp skills trust ${server} ${printableLine(uri, 200)}`,
  });
}

function refused(connection: Connection, error: unknown): PithError {
  if (error instanceof PithError) return error;
  const why = printableLine(connection.withoutSecrets(messageOf(error)), 400);
  return new PithError('mcp_error', `the MCP server '${connection.name}': ${why}`, {
    cure: 'nothing of what it sent is used',
    cause: error,
  });
}

/** null: the bytes are no text. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null; // other bytes are no text
  }
}
