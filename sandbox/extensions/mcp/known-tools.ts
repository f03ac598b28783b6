import { type ExtensionContext, z } from 'pith';
import { sha256 } from '@pith/plain-data';
import type { ServerTool } from './listing.ts';

/** What a server says of a tool, by digest. */
export interface Said {
  readonly description: string;
  readonly schema: string;
  readonly annotations: string;
}

const stored = z.object({ description: z.string(), schema: z.string(), annotations: z.string() });

/**
 * What servers said of their tools when they were first connected, or when a person last agreed to a call. What has changed since, or came
 * later, is not believed to be read-only until a person has agreed to it.
 */
export class KnownTools {
  constructor(private readonly kv: ExtensionContext['kv']) {}

  /** The first list of a server is taken as it is. */
  async listed(server: string, tools: readonly ServerTool[]): Promise<void> {
    if ((await this.kv.get(`server/${server}`)) !== null) return;
    await Promise.all(tools.map((tool) => this.agree(server, tool)));
    await this.kv.set(`server/${server}`, true);
  }

  /** null: it came later, or nothing is known. */
  async known(server: string, { name }: ServerTool): Promise<Said | null> {
    const read = stored.safeParse(await this.kv.get(keyOf(server, name)));
    return read.success ? read.data : null;
  }

  async agree(server: string, tool: ServerTool): Promise<void> {
    await this.kv.set(keyOf(server, tool.name), { ...saidOf(tool) });
  }
}

export function saidOf({ description = '', inputSchema, outputSchema = {}, annotations = {} }: ServerTool): Said {
  return { description: digest(description), schema: digest([inputSchema, outputSchema]), annotations: digest(annotations) };
}

/** What of a tool is not as it was known; empty: all is. */
export function changesIn(said: Said, known: Said): readonly string[] {
  return (['description', 'schema', 'annotations'] as const).filter((part) => said[part] !== known[part]);
}

/** What a yes to a call is for: this tool as its server describes it now. */
export function subjectOf(server: string, tool: ServerTool): string {
  return `mcp ${server} ${digest([tool.name, saidOf(tool)])}`;
}

function keyOf(server: string, tool: string): string {
  return `tool/${server}/${digest(tool)}`; // a server chooses its names, and how long they are
}

function digest(value: unknown): string {
  return sha256(JSON.stringify(value));
}
