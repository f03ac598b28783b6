import { createHash } from 'node:crypto';
import { TOOLSET_PREFIX } from '../../contract/protocols/tool-provider.ts';
import type { OfferedTool } from './tools.ts';

/** A tool before the model's name for it is settled. */
export type UnnamedTool = Omit<OfferedTool, 'modelName'> & {
  /** The name that it would have alone; default its own. */
  readonly wish?: string;
  /** Its name ships, and stays: an equal name of others gives way. */
  readonly keeps?: boolean;
};

/**
 * A name is that of the one tool that wants it. Of several the one that ships has it, where there is one alone; the others get their
 * extension's id in front. `reserved`: names that ship and may come during the turn.
 */
export function named(tools: readonly UnnamedTool[], reserved: ReadonlySet<string> = new Set()): readonly OfferedTool[] {
  const wanted = new Map<string, UnnamedTool[]>();
  for (const tool of tools) wanted.set(wishOf(tool), [...(wanted.get(wishOf(tool)) ?? []), tool]);
  const hasItself = (tool: UnnamedTool): boolean => {
    const rivals = (wanted.get(wishOf(tool)) ?? []).filter((other) => other !== tool);
    if (tool.keeps) return !rivals.some(({ keeps }) => keeps);
    return rivals.length === 0 && !reserved.has(wishOf(tool));
  };
  const plain = new Set(tools.filter(hasItself).map(wishOf));
  const taken = new Set<string>();
  return tools.map((tool) => {
    const { wish: _, keeps: __, ...offered } = tool;
    const isPlain = hasItself(tool);
    const wish = isPlain ? wishOf(tool) : prefixed(tool);
    const modelName = taken.has(wish) || (!isPlain && plain.has(wish)) ? hashed(longName(tool), identityOf(tool)) : wish;
    taken.add(modelName);
    return { modelName, ...offered };
  });
}

/** Names for tools that join `offered`, whose names stay: their own, or one with the id in front where that is taken or wanted twice. */
export function namedBeside(
  offered: readonly OfferedTool[],
  added: readonly UnnamedTool[],
  reserved: ReadonlySet<string>,
): readonly OfferedTool[] {
  const taken = new Set(offered.map(({ modelName }) => modelName));
  return named(added, reserved).map((tool) => {
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
