import type { JsonValue } from '../../contract/index.ts';
import type { ToolDescriptor } from '../../kernel/index.ts';

/** A tool as one turn offers it: data only, no code. */
export interface OfferedTool {
  /** The name that the model sees: the tool's own, or `<extension>__<tool>` on a clash. */
  readonly modelName: string;
  readonly extensionId: string;
  readonly descriptor: ToolDescriptor;
  /** Part of the input of every call, whatever the model writes: the agent that a tool of an agent's name runs. */
  readonly fixed?: Readonly<Record<string, JsonValue>>;
  /** What it would be called alone, where that is not the tool's own name. */
  readonly preferredName?: string;
  /** Somebody else runs it: the turn waits for its result. */
  readonly elsewhere?: boolean;
  /** The model gets it once `find_tools` has found it. */
  readonly onDemand?: boolean;
}
