import { codeOf, type ExtensionContext, messageOf, z } from 'pith';
import { sha256 } from '@pith/plain-data';
import type { ServerConfig } from './config.ts';
import { type ServerTool, listing } from './listing.ts';

/** How long the first question for tools waits for a server: one of which nothing is known, and one that did not answer the last time. */
const UNKNOWN_MS = 3000;
const LATE_MS = 500;
/** A value of the store is not larger. */
const MOST_CHARACTERS = 500_000;

const stored = z.object({ server: z.string(), tools: z.array(z.unknown()).nullable() });

/** What a server did when it was last started. */
export interface CachedToolList {
  /** What it offered: a conversation begins with that, and a call waits for the server. Empty: nothing is known. */
  readonly tools: readonly ServerTool[];
  /** Milliseconds until it counts as late. */
  readonly startWait: number;
}

/** Remembers servers from one start to the next. Another command or address of the same name is another server. */
export class ToolListCache {
  constructor(private readonly context: Pick<ExtensionContext, 'kv' | 'logger'>) {}

  async of(name: string, config: ServerConfig): Promise<CachedToolList> {
    const { data } = stored.safeParse(await this.context.kv.get(keyOf(name)));
    if (data?.server !== digestOf(config)) return { tools: [], startWait: UNKNOWN_MS };
    const { tools } = await listing(async () => ({ tools: data.tools ?? [] }));
    return { tools, startWait: data.tools === null ? LATE_MS : UNKNOWN_MS };
  }

  /** `tools`: null where it did not answer in time. */
  async keep(name: string, config: ServerConfig, tools: readonly ServerTool[] | null): Promise<void> {
    const listed = tools?.map((tool) => ({ ...tool, sent: undefined })) ?? null; // made again when it is read
    const value = { server: digestOf(config), tools: JSON.parse(JSON.stringify(listed)) as never };
    try {
      if (JSON.stringify(value).length > MOST_CHARACTERS) await this.context.kv.delete(keyOf(name));
      else await this.context.kv.set(keyOf(name), value);
    } catch (error) {
      // It is worth a line in the log, and no more.
      if (codeOf(error, '') !== 'stopped') this.context.logger.warn('what an MCP server did cannot be kept', { reason: messageOf(error) });
    }
  }
}

function keyOf(name: string): string {
  return `last/${name}`;
}

function digestOf(config: ServerConfig): string {
  const parts = 'url' in config ? [config.url] : [config.command, config.args, config.cwd];
  return sha256(JSON.stringify(parts)).slice(0, 32);
}
