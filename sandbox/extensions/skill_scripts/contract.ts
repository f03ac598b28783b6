import { defineTopic } from 'pith';

/** A skill's toolset was opened and brings other tools, or other problems, than when it was opened before. */
export interface ToolsetLoaded {
  /** The skill's id; of a kept version `id@` and the beginning of its digest. */
  readonly toolsetId: string;
  readonly tools: readonly string[];
  readonly problems: readonly string[];
}

export const toolsetLoaded = defineTopic<ToolsetLoaded>('toolset.loaded');
