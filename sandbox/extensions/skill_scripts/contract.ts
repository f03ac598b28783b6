import { defineTopic } from 'pith';

/** A skill's toolset was opened and brings other tools, or other problems, than when it was opened before. */
export interface ToolsetLoaded {
  /** The skill's id. */
  readonly toolsetId: string;
  readonly tools: readonly string[];
  readonly problems: readonly string[];
}

export const toolsetLoaded = defineTopic<ToolsetLoaded>('toolset.loaded');
