import type { ProtocolId, ToolDescriptor } from '../../contract/index.ts';
import { toJsonValue } from '../calls/json-value.ts';
import { Problem } from '../problem.ts';
import type { Offer } from './setup.ts';

/** What a process says that it offers, in the shape that the kernel relies on. Throws a `Problem` for any other. */
export function checkedOffer(value: unknown, provides: readonly ProtocolId[]): Offer {
  const { descriptor, operations } = value as Partial<Offer>;
  const { tools, constants, warnings } = (descriptor ?? {}) as Partial<Offer['descriptor']>;
  if (!Array.isArray(operations) || !Array.isArray(tools) || !Array.isArray(warnings) || typeof constants !== 'object')
    throw new Problem('initialize', 'provides_mismatch', 'its process did not say what it offers');
  return {
    operations: operations.map(String),
    descriptor: {
      provides,
      tools: toJsonValue(tools.filter(isTool), 'a tool') as unknown as readonly ToolDescriptor[],
      constants: toJsonValue(constants, 'a constant') as Offer['descriptor']['constants'],
      warnings: warnings.map(String),
    },
  };
}

function isTool(tool: Partial<ToolDescriptor> | null): boolean {
  return (
    typeof tool?.name === 'string' &&
    /^[a-zA-Z0-9_-]{1,64}$/.test(tool.name) &&
    typeof tool.description === 'string' &&
    typeof tool.inputSchema === 'object' &&
    typeof tool.timeoutMs === 'number'
  );
}
