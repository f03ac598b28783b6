import { randomUUID } from 'node:crypto';
import type { ModelPart } from 'pith';
import { listOf, textOf } from '@pith/server-answers';
import { fieldsOf, isPlainMap, jsonOf } from '@pith/plain-data';

/** Assembles the tool calls of one answer from their chunks. */
export class CalledTools {
  private readonly calls: Call[] = [];
  /** The latest call of each index or id: some servers number all calls 0, or write the number as text, and some give all one id. */
  private readonly byIndex = new Map<string, Call>();
  private readonly byId = new Map<string, Call>();

  /** `tools`: the names of the offered tools. */
  constructor(private readonly tools: ReadonlySet<string>) {}

  get size(): number {
    return this.calls.length;
  }

  /** Whether each can be run: an answer that was cut off may end with half a call. */
  get areWhole(): boolean {
    return this.calls.every((call) => isPlainMap(jsonOf(inputOf(call))));
  }

  /** `tool_calls` of a delta or a message: one chunk for each call that continues. */
  add(pieces: unknown): void {
    for (const piece of listOf(pieces)) {
      const { index, id: given, function: called, extra_content: extra } = fieldsOf(piece);
      const { name: named, arguments: args } = fieldsOf(called ?? piece);
      const id = textOf(given);
      const name = textOf(named);
      const input = args === null || args === undefined ? '' : typeof args === 'string' ? args : JSON.stringify(args); // Ollama's servers send objects
      if (id === '' && name === '' && input === '') continue;
      const call = this.callFor({ index: textOf(index), id, name, input });
      call.takeName(name, this.tools);
      const cameAgain = call.isWhole && name !== '' && bare(input) === bare(call.input);
      if (!cameAgain) call.takeInput(input);
      call.signature ||= textOf(fieldsOf(fieldsOf(extra)['google'])['thought_signature']);
      if (id === '' || (call.id !== '' && call.id !== id)) continue;
      call.id = id;
      this.byId.set(id, call);
    }
  }

  parts(): ModelPart[] {
    const ids = new Set<string>();
    return this.calls.map((call) => {
      // OpenAI accepts at most 40 characters.
      const id = call.id === '' || ids.has(call.id) ? `call_${randomUUID().replaceAll('-', '')}` : call.id;
      ids.add(id);
      const part: ModelPart = { type: 'tool-call', toolCallId: id, toolName: call.name, input: inputOf(call) };
      return call.signature === '' ? part : { ...part, providerMetadata: { google: { thoughtSignature: call.signature } } };
    });
  }

  /**
   * The call that a chunk belongs to. A known id means its call, unless that is complete and this is another. A new id with a name begins a
   * call, whatever its index; so does a chunk without an id after complete arguments. All else belongs to the last call of its index, or to
   * the last of all.
   */
  private callFor(piece: Piece): Call {
    const { index, id } = piece;
    const known = id === '' ? undefined : this.byId.get(id);
    if (known !== undefined && !isAnother(known, piece)) return known;
    const last = index === '' ? this.calls.at(-1) : this.byIndex.get(index);
    if (known === undefined && last !== undefined && !this.begins(last, piece)) return last;
    const call = new Call(index);
    this.calls.push(call);
    if (index !== '') this.byIndex.set(index, call);
    return call;
  }

  /** Whether this chunk begins a call, where `last` is the one before it. */
  private begins(last: Call, { index, id, name, input }: Piece): boolean {
    if (id !== '' && last.id !== '') {
      if (name === '') return index === ''; // some servers give each chunk an id of its own, and some repeat the name with it
      return name !== last.name || last.input === '' || input.trimStart().startsWith('{') || last.isWhole;
    }
    if (name === '' || last.name === '') return false;
    const areBothTools = this.tools.has(name) && this.tools.has(last.name) && !this.tools.has(last.name + name);
    return last.isWhole || (last.input === '' && name !== last.name && areBothTools);
  }
}

interface Piece {
  readonly index: string;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

class Call {
  id = '';
  name = '';
  signature = '';
  input = '';
  /** The last chunk of `input`. */
  last = '';
  private depth = 0;
  private isInText = false;
  private isEscaped = false;

  constructor(readonly index: string) {}

  /** Whether the brackets are closed. Tracked with every chunk, so that the input is never read again from its start. */
  get isWhole(): boolean {
    return this.depth === 0 && this.input.startsWith('{');
  }

  /** Names come once, with every chunk, longer each time, or in chunks of their own before the arguments. */
  takeName(piece: string, tools: ReadonlySet<string>): void {
    const { name } = this;
    if (piece.startsWith(name)) this.name = piece;
    else if (this.input === '' && (!tools.has(name) || tools.has(name + piece))) this.name += piece;
  }

  takeInput(piece: string): void {
    if (piece === '') return;
    this.input = this.input === '' ? piece.trimStart() : this.input + piece;
    this.last = piece;
    for (const character of piece) {
      if (this.isEscaped) this.isEscaped = false;
      else if (this.isInText) {
        if (character === '\\') this.isEscaped = true;
        else this.isInText = character !== '"';
      } else if (character === '"') this.isInText = true;
      else if (character === '{' || character === '[') this.depth += 1;
      else if (character === '}' || character === ']') this.depth -= 1;
    }
  }
}

/** The call with this chunk's id is complete, and the chunk does not repeat it. */
function isAnother(known: Call, { index, name, input }: Piece): boolean {
  if (name === '' || !known.isWhole || known.input.trim() === '{}') return false; // which may be a placeholder
  const isElsewhere = index !== '' && index !== known.index;
  return isElsewhere || (isPlainMap(jsonOf(input)) && bare(input) !== bare(known.input));
}

/**
 * The arguments as a JSON object, wherever the chunks can mean only one. For no arguments servers send nothing, `null` or `[]`. Some send
 * JSON within JSON, `{}` before or after the arguments, or the whole arguments again after all or a part of them.
 */
function inputOf({ input, last }: Pick<Call, 'input' | 'last'>): string {
  const text = input.trim();
  if (text === '' || text === 'null' || text === '[]' || text === '""') return '{}';
  const value = jsonOf(text);
  if (isPlainMap(value)) return text;
  if (typeof value === 'string') return isPlainMap(jsonOf(value)) ? value.trim() : text;
  if (value !== undefined) return text;
  return readings(text, last.trim()).find((reading) => isPlainMap(jsonOf(reading))) ?? text;
}

function readings(text: string, last: string): readonly string[] {
  const half = text.slice(0, text.length / 2);
  let [from, to] = [0, text.length];
  while (text.startsWith('{}', from)) from += 2;
  while (text.endsWith('{}', to)) to -= 2;
  return [
    text.slice(from),
    text.slice(0, to),
    ...(text === half + half ? [half] : []),
    ...(bare(last).startsWith(bare(text.slice(0, -last.length))) ? [last] : []),
  ];
}

/** Without white space, which may differ when the same JSON is sent again. */
function bare(json: string): string {
  return json.replace(/\s+/g, '');
}
