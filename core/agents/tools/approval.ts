import type { JsonValue } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';
import { isNamed } from './gate.ts';
import type { OfferedTool } from './tools.ts';

export interface ApprovalRules {
  readonly extensions: Pick<ExtensionsPort, 'needsApproval'>;
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  readonly askAlways: readonly string[];
}

/** Whether a person must be asked before this call. A tool that cannot say is asked about. Waits only where the tool must say it itself. */
export function needsApproval(
  { extensions, askAlways }: ApprovalRules,
  { extensionId, descriptor }: Pick<OfferedTool, 'extensionId' | 'descriptor'>,
  input: JsonValue,
): boolean | Promise<boolean> {
  const { name, needsApproval: says } = descriptor;
  if (isNamed(askAlways, extensionId, name)) return true;
  if (says !== 'maybe') return says === 'always';
  return extensions.needsApproval(extensionId, name, input).catch(() => true); // fail closed: the host has recorded why
}
