import { sha256 } from '@pith/plain-data';
import { shortId } from '../../declarations/index.ts';
import type { OfferedTool } from './offered-tool.ts';

/** A tool before the model's name for it is settled. */
export type UnnamedTool = Omit<OfferedTool, 'modelName'> & {
  /** Its name ships, and stays: an equal name of others gives way. */
  readonly keeps?: boolean;
};

/**
 * A name is that of the one tool that wants it. Of several the one that ships has it, where there is one alone; the others get their
 * extension's id in front. `reserved`: names that ship and may come during the turn. `offered`: tools that they join, whose names stay.
 */
export function named(
  tools: readonly UnnamedTool[],
  reserved: ReadonlySet<string>,
  offered: readonly OfferedTool[] = [],
): readonly OfferedTool[] {
  const wanted = new Map<string, UnnamedTool[]>();
  for (const tool of tools) wanted.set(preferredNameOf(tool), [...(wanted.get(preferredNameOf(tool)) ?? []), tool]);
  const hasItself = (tool: UnnamedTool): boolean => {
    const rivals = (wanted.get(preferredNameOf(tool)) ?? []).filter((other) => other !== tool);
    if (tool.keeps) return !rivals.some(({ keeps }) => keeps);
    return rivals.length === 0 && !reserved.has(preferredNameOf(tool));
  };
  const plain = new Set(tools.filter(hasItself).map(preferredNameOf));
  const taken = new Set(offered.map(({ modelName }) => modelName));
  return tools.map((tool) => {
    const { keeps: _, ...given } = tool;
    const own = hasItself(tool) ? preferredNameOf(tool) : null;
    const isFree = (name: string) => !taken.has(name) && (name === own || !plain.has(name));
    const modelName = [own ?? prefixed(tool), prefixed(tool)].find(isFree) ?? hashed(longName(tool), identityOf(tool));
    taken.add(modelName);
    return { modelName, ...given };
  });
}

function preferredNameOf({ preferredName, descriptor }: UnnamedTool): string {
  return preferredName ?? descriptor.name;
}

const LONGEST_NAME = 64;

/** `<extension>__<tool>`, or `<name>__<tool>` for a tool of a dynamic one; with a hash where it had to be changed or is too long. */
function prefixed(tool: UnnamedTool): string {
  const long = longName(tool);
  const isPlain = long.length <= LONGEST_NAME && long === `${shortId(tool.extensionId)}__${preferredNameOf(tool)}`;
  return isPlain ? long : hashed(long, identityOf(tool));
}

function longName(tool: UnnamedTool): string {
  return `${shortId(tool.extensionId)}__${preferredNameOf(tool)}`.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function identityOf(tool: UnnamedTool): string {
  return `${tool.extensionId}__${preferredNameOf(tool)}`;
}

function hashed(name: string, identity: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${sha256(identity).slice(0, 8)}`;
}
