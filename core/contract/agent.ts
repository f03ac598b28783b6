/** How far one run may go. A child's use counts against its parent's. */
export interface AgentLimits {
  /** Model steps in one turn. */
  readonly max_turns: number;
  readonly max_tool_calls: number;
  /** Input and output tokens of one turn, as the provider reports them. */
  readonly max_tokens: number;
  readonly time_budget_ms: number;
}

export const DEFAULT_LIMITS: AgentLimits = { max_turns: 20, max_tool_calls: 60, max_tokens: 200_000, time_budget_ms: 300_000 };

/** An agent as frozen plain data: declared, read from an AGENT.md or made at run time, it is always this value. */
export interface AgentSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** An alias (`default`, `fast`, …) or `provider/model`. */
  readonly model: string;
  readonly integrationMode: 'tool' | 'none';
  /** Inline instructions; they stand last. */
  readonly instructions: string;
  /** The text of the prompt template, or null where the agent has none. */
  readonly prompt: string | null;
  /** The template's file, for messages. */
  readonly promptFile: string | null;
  /** The extension that brought the prompt: its process renders it. Written by the kernel alone; absent where the kernel renders. */
  readonly promptBy?: string;
  readonly usesTools: readonly string[];
  readonly usesSkills: readonly string[];
  readonly delegatesTo: readonly string[];
  readonly limits: AgentLimits;
  /** Values under `agent:` that extensions own, by key (`skills`, …), unchecked by the kernel. */
  readonly keys: Readonly<Record<string, unknown>>;
  /** The file that declared it, or null when it was made at run time. */
  readonly origin: string | null;
}
