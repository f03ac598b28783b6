import { createHash } from 'node:crypto';
import { isPlainMap } from '@pith/plain-data';
import type { Message } from '../../contract/index.ts';
import { checkedImage, lineOfImage, MOST_IMAGE_DATA, TOOL_NAME } from '../../kernel/index.ts';
import { CallPairing } from './history.ts';
import { digestOfImage, isRefusedBy, mapImages, type SentImage } from './images.ts';

type Role<Name extends Message['role']> = Extract<Message, { role: Name }>;
type AssistantPart = Role<'assistant'>['content'][number];
type ResultPart = Extract<Role<'tool'>['content'][number], { type: 'tool-result' }>;

/** Images of one request: with more of them, servers refuse those that are large. */
const MOST_IMAGES = 20;

/**
 * A conversation as one model takes it. What that model itself wrote goes back as it came: its prompt cache, its signatures and its ids live
 * by that. All else is written so that the strictest server takes it (ADR 57). What was added keeps its bytes, until there are too many images.
 */
export class ModelPrompt {
  /** Grows by what is added. */
  readonly messages: Message[] = [];
  readonly #pairing = new CallPairing();
  /** What ids were sent, and how often each was met. */
  readonly #sentIds = new Set<string>();
  readonly #met = new Map<string, number>();
  /** Of the last step's calls: as they are sent, by how they are stored. */
  #ids = new Map<string, string[]>();
  #images = 0;
  #imageData = 0;
  readonly #ref: string;
  readonly #keepsIds: boolean;

  /** `ref`: the model that it is for. `keepsIds` false: it refused ids that it gave itself, as behind a gateway that makes them. */
  constructor(
    system: string,
    messages: readonly Message[],
    { ref, keepsIds = true }: { readonly ref: string; readonly keepsIds?: boolean },
  ) {
    this.#ref = ref;
    this.#keepsIds = keepsIds;
    this.#addInstructions(system);
    for (const message of messages) this.#add(message);
    this.#checkImages(0);
  }

  /** Another conversation, for the same model in the same way. */
  of(system: string, messages: readonly Message[]): ModelPrompt {
    return new ModelPrompt(system, messages, { ref: this.#ref, keepsIds: this.#keepsIds });
  }

  /** Adds what comes next in the conversation. */
  add(message: Message): void {
    const last = this.messages.length - 1; // it may grow
    this.#add(message);
    this.#checkImages(Math.max(0, last));
  }

  #add(message: Message): void {
    if (message.role === 'tool') {
      const kept = this.#pairing.answer(message);
      if (kept !== null) this.#push(this.#results(kept, this.#ids));
      return;
    }
    const missing = this.#pairing.missing();
    if (missing !== null) this.#push(this.#results(missing, this.#ids));
    this.#pairing.ask(message);
    this.#ids = new Map();
    if (message.role === 'assistant') this.#addAnswer(message);
    else if (message.role === 'user') this.#addQuestion(message);
    else this.#addInstructions(message.content);
  }

  /** What is sent now: no call is open, and the last word is not the model's. */
  sent(): Message[] {
    const missing = this.#pairing.missing();
    if (missing !== null) return [...this.messages, this.#results(missing, structuredClone(this.#ids))];
    const last = this.messages.at(-1)?.role;
    return last === 'user' || last === 'tool' ? this.messages : [...this.messages, said('user', GO_ON)];
  }

  /** Leaves out the images since the model's last answer, or all where there are none; returns their digests. */
  leaveOutImages(why: string): readonly string[] {
    const last = this.messages.findLastIndex(({ role }) => role === 'assistant');
    const leftOut = this.#leaveOutImages(last + 1, why, () => true);
    return (leftOut.length > 0 ? leftOut : this.#leaveOutImages(0, why, () => true)).map(digestOfImage);
  }

  #leaveOutImages(from: number, why: string, isNeeded: () => boolean): readonly SentImage[] {
    const leftOut: SentImage[] = [];
    for (let at = from; at < this.messages.length && isNeeded(); at += 1)
      this.messages[at] = mapImages(this.messages[at] as Message, (image) => {
        if (!isNeeded()) return image;
        this.#count(image, -1);
        leftOut.push(image);
        return lineOfImage(why);
      });
    return leftOut;
  }

  /** Servers take one system message, and take it first. */
  #addInstructions(text: string): void {
    if (text.trim() === '') return;
    const [first, ...others] = this.messages;
    if (others.length > 0 || (first !== undefined && first.role !== 'system')) this.#addQuestion(said('user', text));
    else this.messages[0] = { role: 'system', content: cleanText(first === undefined ? text : `${first.content}\n\n${text}`) };
  }

  #addQuestion(message: Role<'user'>): void {
    const content = keptParts(message.content, (part) => (part.type === 'text' ? cleanTextPart(part) : part));
    const question = content.length === 0 ? said('user', NOTHING) : changed(message, { content });
    if (this.messages.at(-1)?.role === 'tool') this.#push(said('assistant', STOPPED)); // where a turn was ended before the model could answer
    this.#push(question);
  }

  #addAnswer(message: Role<'assistant'>): void {
    const isOwn = message.providerOptions?.['pith']?.['model'] === this.#ref;
    const content = keptParts(message.content, (part) => this.#answerPart(part, isOwn));
    if (!content.some(({ type }) => type !== 'reasoning')) return; // reasoning alone is no answer
    if (this.messages.length === 0 || (this.messages.length === 1 && this.messages[0]?.role === 'system')) this.#push(said('user', BEFORE));
    this.#push(changed(message, { content }));
  }

  #answerPart(part: AssistantPart, isOwn: boolean): AssistantPart | null {
    if (part.type === 'text') return withoutOptions(cleanTextPart(part), isOwn);
    if (part.type === 'reasoning') return isOwn ? changed(part, { text: cleanText(part.text) }) : null;
    // What a provider ran itself, or drew, is for nobody else.
    if (part.type !== 'tool-call' || part.providerExecuted === true) return null;
    const { toolCallId: id, toolName, input } = part;
    const toolCallId = this.#idFor(id, isOwn && this.#keepsIds);
    this.#ids.set(id, [...(this.#ids.get(id) ?? []), toolCallId]);
    const call = changed(part, { toolCallId, toolName: nameFor(toolName), input: isPlainMap(input) ? cleanJson(input) : {} });
    return withoutOptions(call, isOwn);
  }

  /** Of results whose calls are open. Takes their ids out of `ids`. */
  #results(message: Role<'tool'>, ids: Map<string, string[]>): Message {
    const content = keptParts(message.content, (part) => {
      if (part.type !== 'tool-result') return null;
      const toolCallId = ids.get(part.toolCallId)?.shift() ?? part.toolCallId;
      return changed(part, { toolCallId, toolName: nameFor(part.toolName), output: cleanOutput(part.output) });
    });
    return changed(message, { content });
  }

  /** Unique in the conversation, and the same each time that the same conversation is written. */
  #idFor(id: string, isOwn: boolean): string {
    let times = this.#met.get(id) ?? 0;
    let sent = (isOwn ? PLAIN_ID : STRICTEST_ID).test(id) ? id : strictId(id, times);
    while (this.#sentIds.has(sent)) sent = strictId(id, (times += 1));
    this.#met.set(id, times + 1);
    this.#sentIds.add(sent);
    return sent;
  }

  /** Neighbours of one role become one message: some servers insist on turns. */
  #push(message: Message): void {
    const counted = mapImages(message, (image) => {
      if (isRefusedBy(image, this.#ref)) return lineOfImage(REFUSED);
      this.#count(image, 1);
      return image;
    });
    const last = this.messages.at(-1);
    if (last !== undefined && last.role === counted.role && last.role !== 'system')
      this.messages[this.messages.length - 1] = { ...last, content: [...last.content, ...(counted as typeof last).content] } as Message;
    else this.messages.push(counted);
    // Down to half at once: each change of what was sent before costs the prompt cache.
    const isTooMuch = (part: number) => this.#images > MOST_IMAGES / part || this.#imageData > MOST_IMAGE_DATA / part;
    if (isTooMuch(1)) this.#leaveOutImages(0, NEWER, () => isTooMuch(2));
  }

  #count({ data }: SentImage, times: 1 | -1): void {
    this.#images += times;
    this.#imageData += times * data.length;
  }

  /** Decodes those that are sent, and no others: a long conversation has many that newer ones have replaced. */
  #checkImages(from: number): void {
    for (let at = from; at < this.messages.length; at += 1)
      this.messages[at] = mapImages(this.messages[at] as Message, (image) => {
        const found = checkedImage(image.data);
        if ('data' in found && found.mediaType === image.mediaType && found.data === image.data) return image;
        this.#count(image, -1);
        if ('why' in found) return lineOfImage(found.why);
        const sent = { ...image, ...found };
        this.#count(sent, 1);
        return sent;
      });
  }
}

/** A message of the model `ref`: what is in it goes back to that model as it came. */
export function madeBy<T extends Role<'assistant'>>(message: T, ref: string): T {
  return { ...message, providerOptions: { ...message.providerOptions, pith: { ...message.providerOptions?.['pith'], model: ref } } };
}

/** Said where a server wants a word and nobody said one. */
const GO_ON = '(go on)';
const BEFORE = '(what was said before is gone)';
const NOTHING = '(an empty message)';
const STOPPED = '(stopped here)';
const NO_OUTPUT = '(no output)';
const NEWER = 'newer ones fill what one request may carry';
const REFUSED = 'the server of this model refused it';

/** Mistral: exactly nine of these. OpenAI takes 40 letters, Anthropic these, `_` and `-`. */
const STRICTEST_ID = /^[a-zA-Z0-9]{9}$/;
/** What a server may have made itself; not what a model slipped into it. */
const PLAIN_ID = /^[!-~]{1,64}$/;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An id that every server takes. `times`: how often it was met before. */
export function strictId(id: string, times = 0): string {
  const digest = createHash('sha256').update(`${times} ${id}`).digest();
  return Array.from(digest.subarray(0, 9), (byte) => LETTERS[byte % LETTERS.length]).join('');
}

/** A model may have called what was never offered. */
function nameFor(name: string): string {
  return TOOL_NAME.test(name)
    ? name
    : String(name)
        .replaceAll(/[^a-zA-Z0-9_-]+/gu, '_')
        .slice(0, 64) || 'unnamed';
}

function said<Name extends 'user' | 'assistant'>(role: Name, text: string): Role<Name> {
  return { role, content: [{ type: 'text', text }] } as unknown as Role<Name>;
}

/** null: it says nothing, and servers refuse that. */
function cleanTextPart<T extends { readonly text: string }>(part: T | null): T | null {
  if (part === null || part.text.trim() === '') return null;
  return changed(part, { text: cleanText(part.text) } as Partial<T>);
}

/** Lone surrogates and NUL are no text to servers, and to the databases behind some. */
function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}

function cleanJson<T>(value: T): T {
  if (typeof value === 'string') return cleanText(value) as T;
  if (Array.isArray(value)) return keptParts(value, cleanJson) as unknown as T;
  if (!isPlainMap(value)) return value;
  const entries = Object.entries(value);
  const clean = keptParts(entries, (entry) => {
    const [key, part] = entry;
    const now: [string, unknown] = [cleanText(key), cleanJson(part)];
    return now[0] === key && now[1] === part ? entry : now;
  });
  return clean === entries ? value : (Object.fromEntries(clean) as T);
}

function cleanOutput(output: ResultPart['output']): ResultPart['output'] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return changed(output, { value: cleanText(output.value) || NO_OUTPUT });
    case 'json':
    case 'error-json':
      return changed(output, { value: cleanJson(output.value) });
    case 'content': {
      const value = keptParts(output.value, (part) => (part.type === 'text' ? cleanTextPart(part) : part));
      return value.length === 0 ? { type: 'text', value: NO_OUTPUT } : changed(output, { value });
    }
    default:
      return output;
  }
}

/** Marks of another model's server are not for this one. */
function withoutOptions<T extends AssistantPart>(part: T | null, isOwn: boolean): T | null {
  if (part === null || isOwn || part.providerOptions === undefined) return part;
  const { providerOptions: _, ...plain } = part;
  return plain as T;
}

/** The same list where nothing changes. */
function keptParts<T>(parts: readonly T[], change: (part: T) => T | null): T[] {
  let kept: T[] | null = null;
  for (const [at, part] of parts.entries()) {
    const now = change(part);
    if (now !== part) kept ??= parts.slice(0, at);
    if (kept !== null && now !== null) kept.push(now);
  }
  return kept ?? (parts as T[]);
}

/** The same object where nothing changes. */
function changed<T extends object>(value: T, fields: Partial<T>): T {
  for (const key in fields) if (fields[key] !== value[key]) return { ...value, ...fields };
  return value;
}
