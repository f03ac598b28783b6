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
      /** For models that accept images, beside the output. */
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
  /** The model's id of the call, as events have it. Absent: no model asked for it. */
  readonly callId?: string;
  /** The approved `subject`, where the tool's question had one. */
  readonly approved?: string;
}

/** The question before a call. */
export interface ApprovalQuestion {
  /** The call in one line of a person's words: "run `npm test`", "change 3 lines in src/a.ts". Absent: the name of the tool. */
  readonly summary?: string;
  /** What a person must read: a diff, a whole command, a list. The input is shown too without it or a summary, or if the tool is not shipped. */
  readonly text: string;
  /** What is enforced while the call runs on this machine: "sandboxed: no network, project only". Never mere requests. */
  readonly enforced?: string;
  /** What exactly they approve besides the input, such as the digest of what will run; nothing else is covered. At most 1,024 characters. */
  readonly subject?: string;
  /** An `always` covers every call whose question has this `key`; `covers` says so: "exactly `npm test`". Absent: every input with this subject and text. */
  readonly always?: { readonly key: string; readonly covers: string };
  /** True: `always` is not offered, because no two such calls are alike, or the call's effect runs later without a question. */
  readonly once?: boolean;
}

/** Who may use a tool, besides the approval of single calls. */
export interface ToolPermission {
  /** Who may save a skill that names it (default `admin`, and `anyone` if it only reads), and whose turns may call it (default `anyone`). */
  readonly authoring?: 'anyone' | 'admin';
  readonly calling?: 'anyone' | 'admin';
  /** False (default): a skill that names it stays private. */
  readonly safeToShare?: boolean;
  /** It runs only for these saved skills, by `owner/name` or a shipped name; never in a conversation. Absent: wherever it is offered. */
  readonly onlyForSkills?: readonly string[];
}

type Asked = boolean | string | ApprovalQuestion;

/** A tool as its author writes it. `Input` is the result of the zod schema. */
export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> {
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  /** Sent to the model instead of the JSON Schema made from `input`. Parts that some provider refuses become words. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** For a started call of a resumed turn: `read` and `idempotent` run again. Default `write`. */
  readonly effect?: 'read' | 'idempotent' | 'write';
  /** A text means yes, and is what a person must read besides the input. With `true` an `always` covers every call; with a function, this input, or those of one `subject`, while the text stays. */
  readonly needsApproval?: boolean | ((input: z.infer<Schema>, turn: TurnInfo) => Asked | Promise<Asked>);
  /** The time limit of a call in milliseconds; default 20,000. */
  readonly timeoutMs?: number;
  /** Only for agents that name it (`extension/tool`), not for those that name the extension. */
  readonly optIn?: boolean;
  /** It runs an agent in a separate thread, so its calls in one answer run in parallel. */
  readonly runsAgent?: boolean;
  /** It runs the agent that its input names as `agent_id`: agents with `integration_mode: tool` are offered as this tool with the agent filled in. */
  readonly agentTools?: boolean;
  /** Somebody else chose its name, such as a server: a shipped tool overrides it. */
  readonly overridable?: boolean;
  readonly permission?: ToolPermission;
  /** The call's one line in a terminal. */
  present?(result: ToolResult): string;
  /** A JSON value, `toolResult(…)` or `toolError(…)`. A thrown `PithError` refuses with its code and cure; other errors become `tool_failed`. */
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

/** True for results of `toolResult` and `toolError`: a tool may also return plain JSON with an `ok` of its own. */
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

/** An older form: `Tool.define(name, { description, parameters, execute → { title, metadata, output } })`. */
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

/**
 * A tool of one turn: the extension's own (mostly with `optIn`), described for this turn, or all of an extension that it declares. `onDemand`:
 * `find_tools` gives it. `name`: the model's name for it. `elsewhere`: somebody else runs it, and its error `awaiting_result` suspends the turn.
 */
export type TurnTool =
  | (Pick<Tool, 'inputSchema'> &
      Partial<Record<'name' | 'description', string> & Record<'onDemand' | 'elsewhere', boolean>> & { readonly tool: string })
  | { readonly extension: string };

/** Offers tools to the agents that list the extension in `uses_tools`. */
export interface ToolProvider {
  /** The present tools; called once when the extension is activated. */
  getTools(): readonly Tool[] | Promise<readonly Tool[]>;
  /** A turn's tools besides `uses_tools`, for agents that name the extension by `uses_tools`, an agent key or, where it provides skills,
   * `uses_skills`. Asked when a turn begins and, for the next step, after each step that called a tool of it or of its dependencies. */
  getTurnTools?(turn: TurnInfo, signal?: AbortSignal): Promise<readonly TurnTool[]>;
}

export const ToolProvider = defineInProcess<ToolProvider>('tool', {
  getTools: method(),
  getTurnTools: method({ optional: true, timeoutMs: 1000, signalAt: 1 }),
});
