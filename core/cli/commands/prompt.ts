import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { printable, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { findAgent } from './agents.ts';
import { colours, printTable } from './text.ts';
import type { PromptPreview } from '../../agent/index.ts';

/** Prints exactly what the model would get, with invisible characters escaped; with --json byte for byte. */
export async function showPrompt(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const agent = (await findAgent(kernel, String(input.arguments['id']))).id;
  const preview = await kernel.agents.preview({ agent, ...askedOf(input, io) });
  io.json(jsonOf(preview));
  printParts(io, preview);
  if (!io.quiet) printTokens(io, preview);
}

/** The same for the current conversation: the tokens of each part, and with --full the text too. */
export async function showContext(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  if (!io.session)
    throw new PithError('usage', 'context needs a conversation: it shows what the next message would be sent with', {
      cure: 'use it in a conversation: pith chat',
    });
  const { agentId: agent, threadId, model } = io.session;
  const preview = await kernel.agents.preview({ agent, threadId, model, ...askedOf(input, io) });
  io.json(jsonOf(preview));
  if (input.options['full'] === true) printParts(io, preview);
  io.print(windowLine(preview));
  printTokens(io, preview);
  if (input.options['full'] !== true && io.interactive) io.print(colours(io).dim('\nThe whole text: /context --full'));
}

/** What differs by who asks, what, and where. */
function askedOf({ options }: CommandInput, { userId }: CommandIO) {
  return { input: String(options['text'] ?? ''), channelId: String(options['channel']), userId };
}

/** How much of the model's context the request uses. */
function windowLine({ model: { ref, contextWindow }, tokens: { total } }: PromptPreview): string {
  const name = printableLine(ref);
  if (contextWindow === null) return `${name}: its context size is unknown, so no percentage is shown`;
  return `${name}: about ${Math.min(100, Math.round((total / contextWindow) * 100))}% of its context of ${contextWindow.toLocaleString('en')} tokens`;
}

function printParts(io: CommandIO, preview: PromptPreview): void {
  const colour = colours(io);
  io.print(colour.dim('── system ──'));
  io.print(printable(preview.system));
  for (const message of preview.messages) {
    const { role, content } = message as { readonly role: string; readonly content: unknown };
    io.print(colour.dim(`── ${role} ──`));
    io.print(printable(textOf(content)));
  }
  io.print(colour.dim('── tools ──'));
  const tools = preview.tools.map((tool) => `${tool.name}: ${tool.description}\n${JSON.stringify(tool.inputSchema)}`).join('\n');
  io.print(printable(tools) || '(none)');
}

function printTokens(io: CommandIO, preview: PromptPreview): void {
  io.print('');
  const rows = [...preview.tokens.parts, { name: 'total', tokens: preview.tokens.total }];
  printTable(
    io,
    rows,
    [
      { title: 'PART', value: (row) => row.name },
      { title: 'TOKENS', value: (row) => String(row.tokens), align: 'right' },
    ],
    '',
  );
}

/** Text parts as they are, others as JSON. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content
    .map((part: { readonly type?: string; readonly text?: string }) => (part.type === 'text' ? (part.text ?? '') : JSON.stringify(part)))
    .join('\n');
}

function jsonOf(preview: PromptPreview) {
  return JSON.parse(JSON.stringify(preview)) as never; // plain data; drops what is undefined
}
