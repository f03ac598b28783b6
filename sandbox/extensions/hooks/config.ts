import { z } from 'pith';
import { globMatcher } from '@pith/patterns';

const hook = z.strictObject({
  /** `before_tool` can refuse the call. */
  on: z.enum(['before_tool', 'after_tool', 'turn_end']),
  /** Globs over names of tools: `shell`, `project_tools/*`. */
  tools: z
    .array(z.string().refine(isGlob, { error: 'must be the name of a tool, or a glob over such names' }))
    .min(1)
    .default(['*']),
  /** For `sh`. */
  command: z.string().trim().min(1),
  timeout_ms: z.int().min(1).max(590_000).default(60_000),
});

/** Hooks by their names. */
export const config = z.record(z.string(), hook.meta({ by_hand: 'runs a program as you' }));

export type Hook = z.infer<typeof hook> & { readonly name: string };

export function hooksOf(given: z.infer<typeof config>): readonly Hook[] {
  return Object.entries(given).map(([name, each]) => ({ ...each, name }));
}

/** `tool`: `extension/tool`; a glob without a slash is about the part after it. */
export function isAbout({ tools }: Hook, tool: string): boolean {
  return tools.some((glob) => globMatcher(glob)(tool));
}

function isGlob(glob: string): boolean {
  try {
    globMatcher(glob);
    return glob.trim() !== '';
  } catch {
    return false; // the finding says so
  }
}
