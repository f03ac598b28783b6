import { createHash } from 'node:crypto';
import type { OfferedTool } from './tools.ts';

/** A tool before the model's name for it is settled. */
export type UnnamedTool = Omit<OfferedTool, 'modelName'> & {
  /** The name that it would have alone; default its own. */
  readonly wish?: string;
};

/** All that share a name get their extension's id in front. */
export function named(tools: readonly UnnamedTool[]): readonly OfferedTool[] {
  const counts = new Map<string, number>();
  for (const tool of tools) counts.set(wishOf(tool), (counts.get(wishOf(tool)) ?? 0) + 1);
  const taken = new Set<string>();
  return tools.map((tool) => {
    const { wish: _, ...offered } = tool;
    const name = wishOf(tool);
    const long = `${tool.extensionId}__${name}`;
    const wish = (counts.get(name) ?? 0) > 1 ? capped(long, long) : name;
    const modelName = taken.has(wish) ? hashed(long, long) : wish;
    taken.add(modelName);
    return { modelName, ...offered };
  });
}

function wishOf({ wish, descriptor }: UnnamedTool): string {
  return wish ?? descriptor.name;
}

const LONGEST_NAME = 64;

function capped(name: string, identity: string): string {
  return name.length <= LONGEST_NAME ? name : hashed(name, identity);
}

function hashed(name: string, identity: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}
