import { ownNames, sentSchema, withinBounds, type Work, workOfSource } from '@pith/tool-schemas';
import { someOf } from '@pith/plain-text';
import type { Diagnostic, JsonValue } from '../../contract/index.ts';
import type { ToolDescriptor } from '../../kernel/index.ts';

type Described = Pick<ToolDescriptor, 'name' | 'description' | 'inputSchema'>;
type Owned = { readonly extensionId: string; readonly descriptor: Described };

/** Of all tools of one request: names, descriptions and schemas, in characters. */
const MOST_OF_REQUEST = 512 * 1024;
/** With more, OpenAI refuses the request. */
const MOST_TOOLS = 128;
const MOST_NAMED = 5;

/** Those whose schemas can be sent, and what is to be said of the others. */
export function usable<Tool extends Owned>(
  tools: readonly Tool[],
): { readonly tools: readonly Tool[]; readonly notes: readonly Diagnostic[] } {
  const works = new Map<string, Work>();
  const notes = tools.flatMap(({ extensionId, descriptor: { name, inputSchema } }) => {
    const work = works.get(extensionId) ?? workOfSource();
    works.set(extensionId, work);
    const sent = cachedSchema(inputSchema, work);
    return 'problem' in sent
      ? [leftOut(`the tool '${name}' of '${extensionId}' is left out: ${sent.problem}`, 'correct its input schema')]
      : [];
  });
  return { tools: tools.filter(({ descriptor }) => !('problem' in cachedSchema(descriptor.inputSchema))), notes };
}

/** Those that can be sent, beside those that are sent already, and what is to be said of the others: one costs itself alone. */
export function sendable<Tool extends Owned>(
  tools: readonly Tool[],
  offered: readonly Owned[] = [],
): { readonly tools: readonly Tool[]; readonly notes: readonly Diagnostic[] } {
  const { tools: writable, notes: unwritable } = usable(tools);
  const notes = [...unwritable];
  const ids = [...new Set(writable.map(({ extensionId }) => extensionId))];
  const kept = withinBounds(
    ids.map((id) => writable.filter(({ extensionId }) => extensionId === id)),
    [
      { all: Math.max(0, MOST_OF_REQUEST - sizeOf(offered)), of: (tool) => sizeOf([tool]) },
      { all: Math.max(0, MOST_TOOLS - offered.length), of: () => 1 },
    ],
  );
  const fitting = new Set(kept.flat());
  for (const id of ids) {
    const lost = writable.filter((tool) => tool.extensionId === id && !fitting.has(tool)).map(({ descriptor: { name } }) => name);
    if (lost.length > 0)
      notes.push(
        leftOut(
          `${lost.length} ${lost.length === 1 ? 'tool' : 'tools'} of '${id}' ${lost.length === 1 ? 'is' : 'are'} left out, because a request has at most ${MOST_TOOLS} tools and ${MOST_OF_REQUEST / 1024} KB of them: ${someOf(lost, MOST_NAMED)}`,
          `name those that are needed in uses_tools, such as ${id}/${lost[0]}`,
        ),
      );
  }
  return { tools: writable.filter((tool) => fitting.has(tool)), notes };
}

/** The schema that a model is told. */
export function providerSchema({ inputSchema }: Pick<Described, 'inputSchema'>): Readonly<Record<string, unknown>> {
  const sent = cachedSchema(inputSchema);
  return 'problem' in sent ? NO_ARGUMENTS : sent.schema;
}

const NO_ARGUMENTS = { type: 'object', properties: {} };

/** What a model wrote, by the tool's own names of its arguments. */
export function ownInput(input: JsonValue, { inputSchema }: Pick<Described, 'inputSchema'>): JsonValue {
  const sent = cachedSchema(inputSchema);
  return 'problem' in sent ? input : ownNames(input as Readonly<Record<string, JsonValue>>, sent.names);
}

const cache = new WeakMap<object, ReturnType<typeof sentSchema>>();

/** Made once for each description of a tool, not for each turn. */
function cachedSchema(inputSchema: Described['inputSchema'], work?: Work): ReturnType<typeof sentSchema> {
  const known = cache.get(inputSchema) ?? sentSchema(inputSchema, work);
  cache.set(inputSchema, known);
  return known;
}

function sizeOf(tools: readonly Owned[]): number {
  return tools.reduce((sum, { descriptor: { name, description, inputSchema } }) => {
    const sent = cachedSchema(inputSchema);
    return sum + name.length + description.length + ('problem' in sent ? 0 : sent.size);
  }, 0);
}

function leftOut(message: string, cure: string): Diagnostic {
  return { severity: 'warning', code: 'tool_input_invalid', message, cure };
}
