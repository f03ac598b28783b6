import type { ApprovalQuestion, JsonValue, TurnInfo } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';
import { isNamed } from './gate.ts';
import type { OfferedTool } from './tools.ts';

export interface ApprovalRules {
  readonly extensions: Pick<ExtensionsPort, 'needsApproval'>;
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  readonly askAlways: readonly string[];
}

/** False: nobody is asked. A text or a question says what a person must read. */
export type Asking = boolean | string | ApprovalQuestion;

/** Whether a person must be asked before this call; a text means yes, and is for them. A tool that cannot say is asked about. Waits only where the tool must say it itself. */
export function needsApproval(
  { extensions, askAlways }: ApprovalRules,
  { extensionId, descriptor }: Pick<OfferedTool, 'extensionId' | 'descriptor'>,
  input: JsonValue,
  turn: TurnInfo,
): Asking | Promise<Asking> {
  const { name, needsApproval: says } = descriptor;
  const isAlways = isNamed(askAlways, extensionId, name);
  if (says !== 'maybe') return isAlways || says === 'always';
  const said = extensions.needsApproval(extensionId, name, input, turn).catch(() => true); // fail closed: the host has recorded why
  return isAlways ? said.then((each) => each || true) : said;
}

export function textOf(asking: Asking): string | null {
  return typeof asking === 'object' ? asking.text : typeof asking === 'string' ? asking : null;
}

export function subjectOf(asking: Asking): string | null {
  return typeof asking === 'object' ? asking.subject : null;
}
