import type { z } from 'zod';
import type { JsonValue } from './errors.ts';
import { defineInProcess, method } from './protocol.ts';
import type { ImageBytes, Retain, TurnInfo } from './turn.ts';

export type ToolResult =
  | {
      readonly ok: true;
      readonly output: JsonValue;
      readonly title?: string;
      /** For channels; never sent to the model. */
      readonly metadata?: JsonValue;
      readonly retain?: Retain;
      /** Shown to models that take images, beside the output. */
      readonly images?: readonly ImageBytes[];
    }
  | {
      readonly ok: false;
      readonly error: { readonly code: string; readonly message: string };
      readonly title?: string;
      readonly metadata?: JsonValue;
    };

export interface ToolCall {
  readonly turn: TurnInfo;
  readonly signal: AbortSignal;
  /** The same for every attempt at the same call of the same turn. */
  readonly idempotencyKey: string;
  /** The `subject` that a person agreed to, where the tool's question had one. */
  readonly approved?: string;
}

/** What a person is asked before a call. */
export interface ApprovalQuestion {
  /** What the call does, in one line and in a person's words: "run `npm test`", "change 3 lines in src/a.ts". Absent: the name of the tool. */
  readonly summary?: string;
  /** What they must read: a unified diff, a whole command, a list. Beside it the input is shown where this is empty, has no summary, or the tool does not ship. */
  readonly text: string;
  /** What is enforced while the call runs on this machine: "sandboxed: no network, project only". Never what is only asked for. */
  readonly enforced?: string;
  /** What exactly they agree to besides the input, such as the digest of what will run. A yes counts for nothing else. At most 1,024 characters. */
  readonly subject?: string;
  /** An `always` covers every call whose question has this `key`; `covers` says so: "exactly `npm test`". Absent: every input with this subject and text. */
  readonly always?: { readonly key: string; readonly covers: string };
  /** True: `always` is not offered, because no two such calls are alike, or what one leaves runs later and unasked. */
  readonly once?: boolean;
}

/** What a tool asks of saved skills that name it, beside the approval of single calls. */
export interface ToolPermission {
  /** Who may save a skill that names it; default anyone. */
  readonly authoring?: 'anyone' | 'admin';
  /** False: a skill that names it stays private. Default true. */
  readonly safeToShare?: boolean;
  /** It runs only for these saved skills, by `owner/name` or the name of one that ships; never in a conversation. Absent: wherever it is offered. */
  readonly onlyForSkills?: readonly string[];
}

type Asked = boolean | string | ApprovalQuestion;

/** A tool as its author writes it. `Input` is what the zod schema parses to. */
export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  /** The JSON Schema that the model is shown instead of the one made from `input`. What some provider refuses in it is said in words. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** What a resumed turn may do with a call that had started: `read` and `idempotent` run again. Default `write`. */
  readonly effect?: 'read' | 'idempotent' | 'write';
  /** A text means yes, and is what a person must read besides the input. With `true` an `always` covers every call; with a function, this input, or those of one `subject`, while the text stays. */
  readonly needsApproval?: boolean | ((input: z.infer<Schema>, turn: TurnInfo) => Asked | Promise<Asked>);
  /** Milliseconds until the call is cut; default 20,000. */
  readonly timeoutMs?: number;
  /** Given only to agents that name it (`extension/tool`), not by the extension's id alone. */
  readonly optIn?: boolean;
  /** It runs an agent in a thread of its own, so that its calls in one answer run side by side. */
  readonly runsAgent?: boolean;
  /** It runs the agent that its input names as `agent_id`: agents with `integration_mode: tool` are offered as this tool with the agent filled in. */
  readonly agentTools?: boolean;
  /** Its name was chosen by somebody else, such as a server: it gives way to a tool that ships. */
  readonly overridable?: boolean;
  readonly permission?: ToolPermission;
  /** The call's one line in a terminal. */
  present?(result: ToolResult): string;
  /** A JSON value, `toolResult(…)` or `toolError(…)`; a throw becomes `tool_failed`. */
  execute(input: z.infer<Schema>, call: ToolCall): Promise<unknown> | unknown;
}

/** A tool ready to be offered. It parses its own input. */
export type Tool = ToolDefinition & { readonly kind: 'tool' };

export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): Tool {
  return { ...definition, kind: 'tool' } as unknown as Tool;
}

const RESULT = Symbol.for('pith.tool-result');

type ToolResultOptions = Omit<Extract<ToolResult, { ok: true }>, 'ok' | 'output'>;

export function toolResult(output: JsonValue, options: ToolResultOptions = {}): ToolResult {
  return mark({ ok: true, output, ...options });
}

export function toolError(
  code: string,
  message: string,
  options: Omit<ToolResultOptions, 'retain' | 'images'> = {},
): Extract<ToolResult, { ok: false }> {
  return mark({ ok: false, error: { code, message }, ...options });
}

/** True for what `toolResult` and `toolError` made: a tool may also return plain JSON that has an `ok` of its own. */
export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && RESULT in value;
}

function mark<T extends object>(result: T): T {
  Object.defineProperty(result, RESULT, { value: true, enumerable: false });
  return result;
}

type LegacyResult = Pick<ToolResultOptions, 'title' | 'metadata'> & { readonly output: JsonValue };

interface LegacyDefinition<Schema extends z.ZodType> {
  readonly description: string;
  readonly parameters: Schema;
  execute(args: z.infer<Schema>, call: ToolCall): Promise<LegacyResult> | LegacyResult;
}

/** An older manner: `Tool.define(name, { description, parameters, execute → { title, metadata, output } })`. */
export const Tool = {
  define<Schema extends z.ZodType>(name: string, definition: LegacyDefinition<Schema>): Tool {
    return defineTool({
      name,
      description: definition.description,
      input: definition.parameters,
      async execute(input, call) {
        const { output, title, metadata } = await definition.execute(input, call);
        return toolResult(output, { title, metadata });
      },
    });
  },
};

/** A tool of one turn: one of the extension's own (mostly one with `optIn`), described to this turn as it says here, or all of an extension that it declares. */
export type TurnTool =
  | { readonly tool: string; readonly description?: string; readonly inputSchema?: Readonly<Record<string, unknown>> }
  | { readonly extension: string };

/** Offers tools to the agents that list the extension in `uses_tools`. */
export interface ToolProvider {
  /** The tools as they are now; called once when the extension is activated. */
  getTools(): readonly Tool[] | Promise<readonly Tool[]>;
  /**
   * What one turn has besides the `uses_tools` of its agent, which names the extension by `uses_tools`, an agent key or, where it provides skills,
   * `uses_skills`. Asked when a turn begins and after each step that called a tool of it or of what it depends on: what is new comes with the next step.
   */
  getTurnTools?(turn: TurnInfo, signal?: AbortSignal): Promise<readonly TurnTool[]>;
}

export const ToolProvider = defineInProcess<ToolProvider>('tool', {
  getTools: method(),
  getTurnTools: method({ optional: true, timeoutMs: 1000, signalAt: 1 }),
});
