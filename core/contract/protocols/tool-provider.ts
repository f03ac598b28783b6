import { defineProtocol } from '../protocol.ts';
import type { Tool } from '../tool.ts';
import type { TurnInfo } from '../turn.ts';

/** Modules that bring tools. They run in a separate process, never with the extension that names them. */
export interface Toolset {
  /** Tools of it are `toolset:<id>/<tool>`. */
  readonly id: string;
  /** Absolute; nothing outside it is loaded as part of the toolset. */
  readonly directory: string;
  /** `path:Export`, relative to `directory`. */
  readonly modules: readonly string[];
}

/** What the id of a toolset stands behind in the names of its tools. */
export const TOOLSET_PREFIX = 'toolset:';

/** A tool of one turn: one of the extension's own (mostly one with `optIn`), told to this turn as it says here, or all of a toolset. */
export type TurnTool =
  | { readonly tool: string; readonly description?: string; readonly inputSchema?: Readonly<Record<string, unknown>> }
  | { readonly toolset: Toolset };

/** Offers tools to the agents that list the extension in `uses_tools`. */
export interface ToolProvider {
  /** The tools as they are now; called once when the extension is activated. */
  getTools(): readonly Tool[] | Promise<readonly Tool[]>;
  /**
   * What one turn has beside its agent's `uses_tools`, for agents that name the extension: in `uses_tools`, by a key under `agent:` that it
   * owns, or, where it provides skills, by `uses_skills`. Asked when a turn begins and after each step that called a tool of the extension:
   * what is new is offered from the next step, and nothing is taken away before the turn's end. `turn.tools` are those of `uses_tools`.
   */
  getTurnTools?(turn: TurnInfo, signal?: AbortSignal): Promise<readonly TurnTool[]>;
}

export const ToolProvider = defineProtocol<ToolProvider>(
  'tool',
  {
    getTools: { kind: 'method', signature: 'getTools(): Tool[]' },
    getTurnTools: {
      kind: 'method',
      signature: 'getTurnTools(turn: TurnInfo): Promise<TurnTool[]>',
      optional: true,
      timeoutMs: 1000,
      signalAt: 1,
    },
  },
  { inProcessOnly: true },
);
