import type { JsonValue } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';
import type { OfferedTool } from './tools.ts';

/** Whether a person must be asked before this call. A tool that cannot say is asked about. */
export async function needsApproval(
  extensions: Pick<ExtensionsPort, 'needsApproval'>,
  { extensionId, descriptor }: OfferedTool,
  input: JsonValue,
): Promise<boolean> {
  if (descriptor.needsApproval !== 'maybe') return descriptor.needsApproval === 'always';
  try {
    return await extensions.needsApproval(extensionId, descriptor.name, input);
  } catch {
    return true; // fail closed: the host has recorded why
  }
}
