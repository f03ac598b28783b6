import type { ApprovalQuestion, JsonValue, ToolDescriptor, TurnInfo } from '../../contract/index.ts';
import type { ExtensionsPort } from '../../kernel/extensions-port.ts';
import { digestOf, isNamed } from './gate.ts';
import type { OfferedTool } from './tools.ts';

export interface ApprovalRules {
  readonly extensions: Pick<ExtensionsPort, 'needsApproval'>;
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  readonly askAlways: readonly string[];
}

/** What a person is asked before a call; false: nobody is asked. */
export type Asking = false | Ask;

export interface Ask {
  /** What they must read beside the input. */
  readonly text: string | null;
  /** What a yes is for beside the input. */
  readonly subject: string | null;
  /** What an `always` covers; null: it is not offered. */
  readonly always: string | null;
}

/** Whether a person must be asked before this call. A tool that cannot say is asked about. */
export async function needsApproval(
  { extensions, askAlways }: ApprovalRules,
  { extensionId, descriptor }: Pick<OfferedTool, 'extensionId' | 'descriptor'>,
  input: JsonValue,
  turn: TurnInfo,
): Promise<Asking> {
  const { name, needsApproval: says } = descriptor;
  const bySettings = isNamed(askAlways, extensionId, name);
  if (says !== 'maybe') return (bySettings || says === 'always') && ofTool(descriptor);
  try {
    const said = await extensions.needsApproval(extensionId, name, input, turn);
    return said === false ? bySettings && ofTool(descriptor) : ofInput(said, input);
  } catch {
    return UNSAID; // fail closed: the host has recorded why
  }
}

const UNSAID: Ask = { text: null, subject: null, always: null };

/** Every call of the tool is asked about, whatever its input: an `always` is for the tool, as long as it describes itself like this. */
function ofTool({ name, description, inputSchema, effect }: ToolDescriptor): Ask {
  const digest = digestOf({ name, description, inputSchema: inputSchema as JsonValue, effect });
  return { text: null, subject: null, always: `tool:${digest}` };
}

/** The tool looked at the input: an `always` is for that alone, or for what the tool says that it stands for, as long as a person would read the same. */
function ofInput(said: true | string | ApprovalQuestion, input: JsonValue): Ask {
  const { text, subject, once }: Partial<ApprovalQuestion> =
    typeof said === 'object' ? said : typeof said === 'string' ? { text: said } : {};
  const shown = { text: text ?? null, subject: subject ?? null };
  if (once === true) return { ...shown, always: null };
  return {
    ...shown,
    always: subject === undefined ? `input:${digestOf([input, shown.text])}` : `subject:${digestOf([subject, shown.text])}`,
  };
}
