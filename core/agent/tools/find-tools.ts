import { someOf } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import { type JsonValue, toolError, toolResult, type ToolResult, type TurnInfo } from '../../contract/index.ts';
import type { OfferedTool } from './offered-tool.ts';

/** Whose `find_tools` is, as an extension's id would stand in front of its tools. */
const OWN_TOOLS = 'pith';
const FIND_TOOLS = 'find_tools';

/** How many one search brings, and how many a thread keeps: the newest. */
const MOST_FOUND = 6;
const MOST_NAMED_FOUND = 12;
/** Of the best one's score, so that a clear request brings no more than it needs. */
const SHARE_OF_BEST = 0.35;
const MOST_KEPT = 30;
/** Names in the description of the tool; a summary keeps results of up to 1,500 characters whole. */
const MOST_NAMED = 60;
const DESCRIPTION_SHOWN = 140;

/** The tool that finds those of `onDemand`, sorted by name, so that the description stays the same while they do; null: there are none. */
export function finderOf(onDemand: readonly OfferedTool[]): OfferedTool | null {
  if (onDemand.length === 0) return null;
  const names = onDemand.map(({ modelName }) => modelName).sort();
  const description =
    'Finds more tools and gives them to you from your next step on. Search before you say that something cannot be done. ' +
    `There are: ${someOf(names, MOST_NAMED)}.`;
  return {
    modelName: FIND_TOOLS,
    extensionId: OWN_TOOLS,
    descriptor: {
      name: FIND_TOOLS,
      description,
      inputSchema: INPUT,
      effect: 'read',
      needsApproval: 'never',
      timeoutMs: 0,
      optIn: false,
      permission: {},
    },
  };
}

const INPUT = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What they should do, or their names' } },
  required: ['query'],
  additionalProperties: false,
};

export function isFinder({ extensionId }: { readonly extensionId: string }): boolean {
  return extensionId === OWN_TOOLS;
}

/** Those that fit `input.query`, best first. The result is retained by their names, so that the thread keeps them, a shortened one too. */
export async function findTools(onDemand: readonly OfferedTool[], input: JsonValue): Promise<ToolResult> {
  const { query } = input as { readonly query?: unknown };
  if (typeof query !== 'string' || query.trim() === '')
    return toolError('tool_input_invalid', "'query' is not a text; say in a few words what the tool should do");
  const found = await ranked(onDemand, query);
  const names = onDemand.map(({ modelName }) => modelName).sort();
  if (found.length === 0) return toolResult(`No tool fits '${query.slice(0, 100)}'. There are: ${someOf(names, MOST_NAMED)}.`);
  const lines = found.map(({ modelName, descriptor }) => `- ${modelName}: ${firstSentence(descriptor.description)}`);
  return toolResult(`You have these tools from your next step on:\n${lines.join('\n')}`, { retain: retainOf(found) });
}

/** Those that a thread has found, oldest first, as what it holds says. */
export function foundIn(held: TurnInfo['held']): readonly string[] {
  const ids = held.filter(({ key }) => key.startsWith(KEY)).flatMap(({ key }) => key.slice(KEY.length).split(', '));
  return [...new Set(ids.reverse())].slice(0, MOST_KEPT).reverse();
}

const KEY = 'tools found: ';

function retainOf(found: readonly OfferedTool[]): TurnInfo['held'][number] {
  const key = `${KEY}${found.map(({ extensionId, descriptor }) => `${extensionId}/${descriptor.name}`).join(', ')}`;
  return { key, digest: sha256(key).slice(0, 12) };
}

/** Those that the query names, by themselves or by their extension, else by their words. */
async function ranked(tools: readonly OfferedTool[], query: string): Promise<readonly OfferedTool[]> {
  const words = new Set(query.toLowerCase().split(/[^a-z0-9_-]+/u));
  const named = tools.filter(({ modelName, extensionId }) => words.has(modelName.toLowerCase()) || words.has(extensionId));
  if (named.length > 0) return named.slice(0, MOST_NAMED_FOUND);
  const { Bm25fRanker } = await import('@pith/word-ranker');
  const ranker = new Bm25fRanker();
  for (const { modelName, extensionId, descriptor } of tools) {
    const { properties = {} } = descriptor.inputSchema as { readonly properties?: object };
    const [name, tag, body] = [modelName, extensionId, Object.keys(properties).join(' ')].map((text) => text.replaceAll('_', ' '));
    ranker.upsert({ id: modelName, name: name!, description: descriptor.description, tags: [tag!], examples: [], body: body! });
  }
  const found = ranker.rank(query, { k: MOST_FOUND, weak: true });
  const least = (found[0]?.score ?? 0) * SHARE_OF_BEST;
  return found.flatMap(({ id, score }) => (score < least ? [] : (tools.find(({ modelName }) => modelName === id) ?? [])));
}

function firstSentence(text: string): string {
  const [first = ''] = text.split(/(?<=[.;])\s/u, 1);
  return first.length <= DESCRIPTION_SHOWN ? first : `${first.slice(0, DESCRIPTION_SHOWN)}…`;
}
