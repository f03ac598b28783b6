import type { CallToolResult } from '@modelcontextprotocol/server';
import { PithError, z, type ExtensionContext } from 'pith';
import type { SavedSkills } from 'pith/saved_skills';
import type { ServedPerson } from './served.ts';
import type { ReadableSkills } from './readable-skills.ts';

/** A tool as a client sees and calls it. */
export interface ServedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly isReadOnly: boolean;
  /** Rejects with a `PithError` that a model is told. */
  call(input: unknown, about: CallInfo): Promise<CallToolResult>;
}

export interface CallInfo {
  readonly signal: AbortSignal;
  progress(message: string): Promise<void>;
}

export interface ToolPorts {
  readonly context: ExtensionContext;
  readonly served: ServedPerson;
  /** null: there are no skills here. */
  readonly readable: ReadableSkills | null;
  readonly saved: SavedSkills | null;
  /** Names folders of this machine in place of their paths. */
  hide<T>(shown: T): T;
}

interface Definition<Schema extends z.ZodObject> extends Pick<ServedTool, 'name' | 'description' | 'isReadOnly'> {
  readonly input: Schema;
  call(input: z.infer<Schema>, about: CallInfo): Promise<CallToolResult>;
}

export function servedTool<Schema extends z.ZodObject>({ input, call, ...tool }: Definition<Schema>): ServedTool {
  return {
    ...tool,
    inputSchema: z.toJSONSchema(input, { io: 'input' }) as ServedTool['inputSchema'],
    async call(given, about) {
      const parsed = input.safeParse(given);
      if (parsed.success) return call(parsed.data, about);
      throw new PithError('input_invalid', `wrong arguments of ${tool.name}: ${z.prettifyError(parsed.error)}`, {
        cure: 'correct them and call it again',
      });
    },
  };
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
