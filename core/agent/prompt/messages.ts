import { printableLine } from '@pith/plain-text';
import { countTokens, startWithin } from '@pith/token-count';
import { type ContextParts, type JsonValue, type Message, PithError, type ToolResult, type TurnRequest } from '../../contract/index.ts';
import { checkedImage, MOST_IMAGE_DATA } from '../../kernel/index.ts';
import { isMessage, type Retain, type StoredMessage } from '../threads/thread.ts';

type ToolMessage = Extract<Message, { role: 'tool' }>;
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
type UserMessage = Extract<Message, { role: 'user' }>;
type ResultPart = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;

export type Attachment = NonNullable<TurnRequest['attachments']>[number];

/** A whole text beside a message, and whose it is. */
export type OfferedDocument = NonNullable<ContextParts['documents']>[number] & {
  readonly extensionId: string;
};

/** What is before the user's own text in a message. */
interface Beside {
  readonly documents?: readonly OfferedDocument[];
  readonly attachments?: readonly Attachment[];
}

/** The message that a user's turn begins with: documents, then turn parts, what the user attached, and the user's own text last. */
export function userMessage(turnParts: readonly string[], text: string, { documents = [], attachments = [] }: Beside = {}): Message {
  const whole = documents.map(({ key, digest, text: body, label }) => ({
    type: 'text' as const,
    text: body,
    providerOptions: { pith: { document: { key, digest, ...(label === undefined ? {} : { label }) } } },
  }));
  const said = (part: string) => ({ type: 'text' as const, text: part });
  return { role: 'user', content: [...whole, ...turnParts.map(said), ...attachments.flatMap(attachedParts), said(text)] };
}

const MOST_ATTACHED = 20;
/** Characters of a message, and of each text that is attached. */
const MOST_TEXT = 2 * 1024 * 1024;

/** Throws `usage` for a text that is too long. */
export function checkedText(text: string): string {
  if (text.length <= MOST_TEXT) return text;
  throw new PithError('usage', `the message has ${text.length} characters: at most ${MOST_TEXT} are sent`, {
    cure: 'send its parts one by one, or put it into a file that the agent reads',
  });
}

/** Throws `usage` for what cannot be sent with a message. */
export function checkedAttachments(attachments: readonly Attachment[]): readonly Attachment[] {
  if (attachments.length > MOST_ATTACHED)
    throw new PithError('usage', `${attachments.length} attachments: at most ${MOST_ATTACHED} are sent with a message`);
  const size = attachments.reduce((total, each) => total + ('image' in each ? each.image.data.length : 0), 0);
  if (size > MOST_IMAGE_DATA)
    throw new PithError('usage', 'the attached images have more than 20 MB together', { cure: 'attach fewer, or smaller ones' });
  return attachments.map((each) => {
    if ('image' in each) {
      const found = checkedImage(each.image.data);
      if ('data' in found) return { name: each.name, image: found };
      throw new PithError('usage', `'${each.name}' cannot be sent as an image: ${found.why}`, { cure: 'attach another file, or none' });
    }
    if (each.text.length <= MOST_TEXT) return each;
    throw new PithError('usage', `'${each.name}' has ${each.text.length} characters: at most ${MOST_TEXT} are sent with a message`);
  });
}

/** Without what only Pith itself says of a message. Throws `usage` for what is no message of a user, an assistant or a tool. */
export function checkedHistory(history: readonly Message[]): readonly Message[] {
  return history.map((message, at) => {
    if (message.role === 'system' || !isMessage(message))
      throw new PithError('usage', `the history cannot be sent: entry ${at} must be a message of a user, an assistant or a tool`);
    const { role, content } = message;
    return { role, content: content.map((part) => plainPart(part, at)) } as Message;
  });
}

type PartOfMessage = Exclude<Message, { role: 'system' }>['content'][number];

function plainPart(given: PartOfMessage, at: number) {
  const { providerOptions: _, ...part } = given;
  if (part.type !== 'file') return part;
  const found = typeof part.data === 'string' ? checkedImage(part.data) : { why: 'it is not in base64' };
  if ('data' in found) return { ...part, ...found };
  throw new PithError('usage', `the history cannot be sent: the image in entry ${at}: ${found.why}`, { cure: 'leave it out' });
}

/** A closing tag inside cannot end the envelope. */
function attachedParts(attachment: Attachment): UserMessage['content'] {
  const name = printableLine(attachment.name).replaceAll(/["<>]/gu, ' ');
  if ('text' in attachment) {
    const text = attachment.text.replaceAll(/<(\/?attachment)/giu, '&lt;$1');
    return [{ type: 'text', text: `<attachment name="${name}">\n${text}\n</attachment>` }];
  }
  const { mediaType, data } = attachment.image;
  return [
    { type: 'text', text: `<attachment name="${name}" type="${mediaType}"/>` },
    { type: 'file', mediaType, data, filename: name },
  ];
}

/** Which document a part beside a user's text is; null for every other part. */
function documentOf(part: UserMessage['content'][number]): Retain | null {
  const document = part.providerOptions?.['pith']?.['document'] as Partial<Retain> | null | undefined;
  return typeof document?.key === 'string' ? { key: document.key, digest: String(document.digest) } : null;
}

/** The documents that are in messages. */
export function documentsIn(messages: readonly Message[]): readonly Retain[] {
  return messages.flatMap((message) => (message.role === 'user' ? message.content.flatMap((part) => documentOf(part) ?? []) : []));
}

/** A result as the model reads it: text as it is, other values as JSON, errors as `{"error": …}`. */
export function resultPart(callId: string, name: string, result: ToolResult): ResultPart {
  const output: ResultPart['output'] = result.ok
    ? okOutput(result)
    : { type: 'error-json', value: { error: { code: result.error.code, message: result.error.message } } };
  return { type: 'tool-result', toolCallId: callId, toolName: name, output };
}

function okOutput({ output, images = [] }: Extract<ToolResult, { ok: true }>): ResultPart['output'] {
  const value = outputText(output);
  if (images.length === 0) return { type: 'text', value };
  return {
    type: 'content',
    value: [{ type: 'text', text: value }, ...images.map(({ mediaType, data }) => ({ type: 'image-data' as const, mediaType, data }))],
  };
}

/** Whether compaction wrote it in the user's place. */
export function isSummary(message: Message): boolean {
  return message.providerOptions?.pith?.summary === true;
}

/** The user's own texts, oldest first; what providers put beside them is left out. */
export function userTexts(messages: readonly StoredMessage[], most: number): readonly string[] {
  const texts: string[] = [];
  for (let index = messages.length - 1; index >= 0 && texts.length < most; index -= 1) {
    const message = messages[index]?.message;
    if (message?.role === 'user' && !isSummary(message)) texts.unshift(ownText(message));
  }
  return texts;
}

/** Ids of the calls that an assistant message asks for. */
export function callIdsOf(message: Message | undefined): readonly string[] {
  if (message?.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : []));
}

/** What an assistant message says, without reasoning and calls. */
export function textOfAnswer(message: Message): string {
  if (message.role !== 'assistant') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** What the person wrote; what was put beside it is left out. */
export function ownText(message: UserMessage): string {
  const last = message.content.at(-1);
  return last?.type === 'text' ? last.text : '';
}

/** What the person attached; `mediaType`: of an image. */
export function attachmentsOf({ content }: UserMessage): readonly { readonly name: string; readonly mediaType: string | null }[] {
  return content.slice(0, -1).flatMap((part): ReturnType<typeof attachmentsOf> => {
    if (part.type === 'file') return [{ name: part.filename ?? '', mediaType: part.mediaType }];
    const name = /^<attachment name="([^"]*)">\n/u.exec(part.type === 'text' ? part.text : '')?.[1];
    return name === undefined ? [] : [{ name, mediaType: null }];
  });
}

/** What was put beside it whole, as people are told of it. */
export function documentLabels({ content }: UserMessage): readonly string[] {
  return content.flatMap(({ providerOptions }) => {
    const document = providerOptions?.['pith']?.['document'] as { readonly label?: unknown } | null | undefined;
    return typeof document?.label === 'string' ? [document.label] : [];
  });
}

function outputText(output: JsonValue): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? 'null');
}

type Retaining = Pick<StoredMessage, 'message' | 'retain'>;

/** What is whole in a conversation, each once: results that asked to be kept, and documents next to messages. */
export function heldIn(messages: readonly Retaining[]): readonly Retain[] {
  return distinct([...retainedIn(messages), ...documentsIn(messages.map(({ message }) => message))]);
}

export function distinct(held: readonly Retain[]): readonly Retain[] {
  return [...new Map(held.map(({ key, digest }) => [JSON.stringify([key, digest]), { key, digest }])).values()];
}

/** The results that asked to be kept: those whose text is still whole, and those whose text has gone. One that came several times is kept when all of them are. */
export function keptAndDropped(before: readonly Retaining[], after: readonly Retaining[]) {
  const [held, left] = [retainedIn(before), retainedIn(after)];
  const times = (list: readonly Retain[], { key, digest }: Retain) =>
    list.filter((each) => each.key === key && each.digest === digest).length;
  const isKept = (retain: Retain) => times(left, retain) >= times(held, retain);
  const all = distinct(held);
  return { kept: all.filter(isKept), dropped: all.filter((retain) => !isKept(retain)) };
}

function retainedIn(messages: readonly Retaining[]): readonly Retain[] {
  return messages.flatMap(({ retain }) => Object.values(retain));
}

/** `text` with at most `limit` tokens; what is cut is said. */
export function cutToTokens(text: string, limit: number): string {
  if (text.length <= limit || countTokens(text) <= limit) return text;
  const mark = `\n[… cut at ${limit} tokens]`;
  return startWithin(text, limit - countTokens(mark)).trimEnd() + mark;
}

/** All text that a message costs the model. */
export function textOf(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content.map(partText).join('\n');
}

/** More than any tokenizer would count: characters. Cheap enough to decide whether counting is worth while. */
export function upperBound(messages: readonly Message[], from = 0): number {
  let total = 0;
  for (let index = from; index < messages.length; index += 1) total += textOf(messages[index] as Message).length + 8;
  return total;
}

type Part = Exclude<Message, { role: 'system' }>['content'][number];

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool-call':
      return `${part.toolName} ${JSON.stringify(part.input)}`;
    case 'tool-result':
      if (part.output.type === 'content') return part.output.value.flatMap((each) => (each.type === 'text' ? each.text : [])).join('\n');
      return 'value' in part.output && typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output);
    default:
      return '';
  }
}
