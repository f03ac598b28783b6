import { type CommandInput, type CommandIO, type JsonValue, PithError, type ToolResult } from '../../contract/index.ts';
import { printable, printableLine, withCure } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { argumentLines, detailLines, enforcedLine } from './approval-text.ts';
import { findAgent } from './agents.ts';
import { colours, printTable } from './text.ts';
import { summaryOf, type ToolQuestion } from '../../agent/index.ts';

export async function listTools(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const agent = await agentOf(kernel, input, io);
  const tools = await kernel.agents.toolsOf(agent);
  io.json(
    tools.map(({ modelName, extensionId, descriptor, onDemand = false }) => ({
      name: modelName,
      extension: extensionId,
      onDemand,
      description: descriptor.description,
      effect: descriptor.effect,
      needsApproval: descriptor.needsApproval,
      inputSchema: descriptor.inputSchema as { readonly [key: string]: JsonValue },
    })),
  );
  printTable(
    io,
    tools,
    [
      { title: 'TOOL', value: (tool) => tool.modelName },
      { title: 'GIVEN', value: (tool) => (tool.onDemand ? 'on demand' : 'always') },
      { title: 'EXTENSION', value: (tool) => tool.extensionId },
      { title: 'EFFECT', value: (tool) => tool.descriptor.effect },
      { title: 'DESCRIPTION', value: (tool) => tool.descriptor.description, below: true },
    ],
    `${agent} has no tools: add extension ids to uses_tools in its manifest, or see what could not be loaded: pith doctor`,
  );
}

/** Uses the same gate as a turn. Exit code 1 when the tool answers with an error. */
export async function callTool(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const agent = await agentOf(kernel, input, io);
  const given = parseJson(String(input.options['input'] ?? '{}'));
  const approve = (question: ToolQuestion) => approveCall(question, input.options['approve'] === true, io);
  let place = '';
  const forget = kernel.events.handle('extension.failed', ({ phase, file, line }) => {
    if (phase === 'tool call' && file !== undefined) place = ` at ${file}${line === undefined ? '' : `:${line}`}`;
  });
  const result = await kernel.agents
    .callTool({ agentId: agent, userId: io.userId, approve }, String(input.arguments['name']), given, signal)
    .catch(refusal)
    .finally(forget);
  if (result.ok) {
    io.json({ ok: true, output: result.output });
    io.print(printable(typeof result.output === 'string' ? result.output : JSON.stringify(result.output, null, 2)));
    return 0;
  }
  const { code, message } = result.error;
  io.json({ ok: false, error: { code, message } });
  if (!io.wantsJson) io.error(`pith: ${String(input.arguments['name'])}: ${message} (${code}${place})`);
  return 1;
}

/** The person who calls a tool by hand is the one to ask. */
async function approveCall(question: ToolQuestion, isGiven: boolean, io: CommandIO): Promise<boolean> {
  if (isGiven) return true;
  const { tool, input, details, enforced, guard } = question;
  if (!io.interactive)
    throw new PithError(
      'approval_needed',
      `not run: '${tool}' needs your approval, and there is no terminal to ask on${guard === null ? '' : `: ${guard}`}`,
      {
        cure: 'look at the input, then add --approve',
      },
    );
  const colour = colours(io);
  io.print(colour.bold(printableLine(summaryOf(question))));
  const lines = [...(details?.trim() ? detailLines(details, colour) : []), ...argumentLines(input)];
  for (const { text, paint } of lines) io.print(`  ${paint(text)}`);
  if (enforced !== null) io.print(`  ${enforcedLine(enforced, colour)}`);
  return (await io.ask('Allow?', { choices: ['yes', 'no'] })) === 'yes';
}

/** A tool that the agent lacks gives an answer of the same shape. */
function refusal(error: unknown): ToolResult {
  if (!(error instanceof PithError)) throw error;
  return { ok: false, error: { code: error.code, message: withCure(error.message, error.cure) } };
}

async function agentOf(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<string> {
  const named = input.options['agent'];
  return (await findAgent(kernel, typeof named === 'string' ? named : (io.session?.agentId ?? kernel.settings.default_agent))).id;
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new PithError('usage', '--input is not JSON', {
      cure: `write it as: --input '{"name": "value"}'`,
      cause: error,
    });
  }
}
