import { createHash } from 'node:crypto';
import { TOOLSET_PREFIX } from '../../contract/protocols/tool-provider.ts';
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
    const wish = (counts.get(name) ?? 0) > 1 ? prefixed(tool) : name;
    const modelName = taken.has(wish) ? hashed(longName(tool), identityOf(tool)) : wish;
    taken.add(modelName);
    return { modelName, ...offered };
  });
}

/** Names for tools that join `offered`, whose names stay: their own, or one with the id in front where that is taken or wanted twice. */
export function namedBeside(offered: readonly OfferedTool[], added: readonly UnnamedTool[]): readonly OfferedTool[] {
  const taken = new Set(offered.map(({ modelName }) => modelName));
  return named(added).map((tool) => {
    const wish = taken.has(tool.modelName) ? prefixed(tool) : tool.modelName;
    const modelName = taken.has(wish) ? hashed(longName(tool), identityOf(tool)) : wish;
    taken.add(modelName);
    return { ...tool, modelName };
  });
}

function wishOf({ wish, descriptor }: UnnamedTool): string {
  return wish ?? descriptor.name;
}

const LONGEST_NAME = 64;

/** `<extension>__<tool>`, or `<skill>__<tool>` for a tool of its toolset; with a hash where it had to be changed or is too long. */
function prefixed(tool: UnnamedTool): string {
  const long = longName(tool);
  const isPlain = long.length <= LONGEST_NAME && long === `${ownerOf(tool)}__${wishOf(tool)}`;
  return isPlain ? long : hashed(long, identityOf(tool));
}

function longName(tool: UnnamedTool): string {
  return `${ownerOf(tool)}__${wishOf(tool)}`.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function ownerOf({ extensionId }: UnnamedTool): string {
  return extensionId.startsWith(TOOLSET_PREFIX) ? extensionId.slice(TOOLSET_PREFIX.length) : extensionId;
}

function identityOf(tool: UnnamedTool): string {
  return `${tool.extensionId}__${wishOf(tool)}`;
}

function hashed(name: string, identity: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}
