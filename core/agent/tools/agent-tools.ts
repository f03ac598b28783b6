import type { AgentSpec, JsonValue, ToolDescriptor } from '../../contract/index.ts';
import type { ExtensionsPort } from '../../kernel/extensions-port.ts';
import type { UnnamedTool } from './tool-names.ts';
import type { OfferedTool } from './tools.ts';

/** The input by which a tool with `agentTools` names the agent that it runs. */
const AGENT = 'agent_id';

/** For each callee with `integration_mode: tool` a tool named after it, which is the one with `agentTools` among `tools`. */
export function toolsOfAgents(
  tools: readonly UnnamedTool[],
  callees: readonly AgentSpec[],
  extensions: Pick<ExtensionsPort, 'keepsNames'>,
): readonly UnnamedTool[] {
  const runners = tools.filter(({ descriptor }) => descriptor.agentTools);
  const runner = runners.find(({ keeps }) => keeps) ?? runners[0]; // agents are handed to no stranger while one that ships is there
  if (runner === undefined) return [];
  const { extensionId, descriptor } = runner;
  return callees
    .filter(({ integrationMode }) => integrationMode === 'tool')
    .map((callee) => ({
      extensionId,
      descriptor: { ...descriptor, description: descriptionOf(callee), inputSchema: withoutAgent(descriptor.inputSchema) },
      wish: callee.id,
      keeps: extensions.keepsNames(callee.id),
      fixed: { [AGENT]: callee.id },
    }));
}

/** What the tool is called with: the model's input and what is filled in for it. */
export function withFixed(input: JsonValue, tool: Pick<OfferedTool, 'fixed'> | null): JsonValue {
  return tool?.fixed === undefined ? input : { ...(input as Readonly<Record<string, JsonValue>>), ...tool.fixed };
}

function descriptionOf({ id, name, description }: AgentSpec): string {
  return `${description || name} (The agent '${id}': it works on the task by itself and returns its answer.)`;
}

function withoutAgent(schema: ToolDescriptor['inputSchema']): ToolDescriptor['inputSchema'] {
  const { properties, required, ...rest } = schema as { readonly properties?: object; readonly required?: readonly string[] };
  const left = Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => name !== AGENT));
  return { ...rest, properties: left, required: (required ?? []).filter((name) => name !== AGENT) };
}
