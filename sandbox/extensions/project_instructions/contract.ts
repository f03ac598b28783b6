import { defineProtocol, method, type ToolResult, type TurnInfo } from 'pith';

/** Instructions of folders that a conversation does not have yet. */
export interface JoiningInstructions {
  /** For the model; null: there are some, and they are not used. */
  readonly text: string | null;
  /** For people, as a part of a sentence. */
  readonly line: string;
  /** The `retain` of the result that contains the text; null: without one. */
  readonly retain: NonNullable<Extract<ToolResult, { ok: true }>['retain']> | null;
}

/** Provides the instructions of folders below the working directory when a tool reaches them. */
export interface FolderInstructions {
  /** `names` lead from the project to the file or folder that a tool has used. null: nothing new. */
  joining(names: readonly string[], turn: TurnInfo): Promise<JoiningInstructions | null>;
}

export const FolderInstructions = defineProtocol<FolderInstructions>(
  'project.instructions',
  {
    joining: method({ timeoutMs: 1000 }),
  },
  { inProcessOnly: true },
);
