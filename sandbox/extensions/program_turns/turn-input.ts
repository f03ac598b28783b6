import { type JsonValue, type Message, PithError, type TurnRequest } from 'pith';
import type { GivenMessage } from './contract.ts';

/** What the messages of a program's request mean for a turn. */
export interface TurnInput {
  /** Come after those of the agent. */
  readonly instructions: string;
  /** What was said before, for a new thread: all, the user's last message excluded. */
  readonly history: readonly Message[];
  /** null: there are only results. */
  readonly message: (Pick<TurnRequest, 'attachments'> & { readonly text: string }) | null;
  /** By the ids of the calls that a turn before ended with. */
  readonly results: Readonly<Record<string, JsonValue>>;
}

type MessageFrom<Role> = Extract<GivenMessage, { role: Role }>;

/** Results behind the last answer are those of a turn that waits. Throws `usage` where an answer is last. */
export function turnOf(messages: readonly GivenMessage[]): TurnInput {
  const spoken = messages.filter((message) => message.role !== 'system');
  const last = spoken.at(-1);
  if (last === undefined || last.role === 'assistant')
    throw new PithError('usage', 'the last message is not of the user or a tool', { cure: 'end with one of these' });
  const before = last.role === 'user' ? spoken.slice(0, -1) : spoken;
  const answered = before.slice(before.findLastIndex(({ role }) => role === 'assistant') + 1);
  return {
    instructions: messages.flatMap((message) => (message.role === 'system' ? [message.text] : [])).join('\n\n'),
    history: historyOf(before),
    message: last.role === 'user' ? messageOf(last) : null,
    results: Object.fromEntries(answered.flatMap((each) => (each.role === 'tool' ? [[each.callId, each.text]] : []))),
  };
}

/** What a message of images alone says. */
const ABOUT_IMAGES = 'See the image.';

function messageOf({ text, images }: MessageFrom<'user'>): NonNullable<TurnInput['message']> {
  if (images.length === 0) return { text };
  const attachments = images.map((image, at) => ({ name: `image ${at + 1}`, image }));
  return { text: text.trim() === '' ? ABOUT_IMAGES : text, attachments };
}

/** Answers and results that stand behind each other are one: calls that were made side by side. */
function historyOf(messages: readonly Exclude<GivenMessage, { role: 'system' }>[]): readonly Message[] {
  const names = new Map<string, string>();
  const history: Message[] = [];
  for (const message of messages.flatMap((each) => sentMessage(each, names))) {
    const before = history.at(-1);
    if (before === undefined || before.role !== message.role || message.role === 'user') history.push(message);
    else history[history.length - 1] = { ...before, content: [...before.content, ...message.content] } as Message;
  }
  return history;
}

/** `names`: of the tools that were called, by the ids of the calls. */
function sentMessage(message: Exclude<GivenMessage, { role: 'system' }>, names: Map<string, string>): readonly Message[] {
  if (message.role === 'user') {
    const images = message.images.map((image) => ({ type: 'file' as const, ...image }));
    return [{ role: 'user', content: [...images, { type: 'text', text: message.text }] }];
  }
  if (message.role === 'tool') {
    const { callId: toolCallId, text: value } = message;
    const toolName = names.get(toolCallId) ?? 'unknown';
    return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }] }];
  }
  const calls = message.calls.map(({ id: toolCallId, name: toolName, arguments: text }) => {
    names.set(toolCallId, toolName);
    return { type: 'tool-call' as const, toolCallId, toolName, input: inputOf(text) };
  });
  const said = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }];
  return said.length + calls.length === 0 ? [] : [{ role: 'assistant', content: [...said, ...calls] }];
}

/** A call that was made with what is not JSON was answered already: its arguments are of no more use. */
function inputOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return {}; // see above
  }
}
