import { displayWidth, printableLine, wrapLines } from '@pith/plain-text';
import { commonBeginning, listRows, NOTHING, type Completion } from './completion-list.ts';
import { atEnd, EMPTY, ERASURES, insert, KILLS, moveLine, MOVES, removed, replaceBefore, type EditedText } from './edited-text.ts';
import { FoldedText } from './folded-text.ts';
import { InputHistory } from './input-history.ts';
import { KeyStream, type Key } from './key-stream.ts';
import { LiveArea, type AreaFrame } from './live-area.ts';
import { DraftRows, sentLines } from './rows.ts';
import { TerminalMode, type TerminalStreams } from './terminal-mode.ts';

export type { Completion } from './completion-list.ts';
export type { TerminalStreams } from './terminal-mode.ts';

export interface LineEditorOptions {
  readonly terminal: TerminalStreams;
  /** Newest first. */
  readonly history: readonly string[];
  /** Completions for the text at the cursor. */
  complete(text: string, cursor: number): Promise<Completion>;
  /** True where completions appear while a person types, without Tab. */
  suggests?(text: string, cursor: number): boolean;
  /** Called for Ctrl-C. True: the editor clears the typed text. */
  interrupted(text: string): boolean;
  /** Called for Esc, unless it closes something of the editor. */
  escaped(text: string): void;
  /** Called with each message that a person enters, also one that is queued. */
  entered?(message: string): void;
  /** Called when the input has ended: by Ctrl-D, or with the terminal. */
  ended?(): void;
  /** Ctrl-G: edits the text in another program, which has the terminal until this resolves. null: the text stays. */
  editElsewhere?(text: string): Promise<string | null>;
  /** Ctrl-V: what to insert for what the clipboard holds; null: nothing. */
  clipboard?(): Promise<string | null>;
  /** The terminal tells whether a person looks at it. */
  focused?(isFocused: boolean): void;
  /** Temporary rows above the prompt. */
  above?(columns: number): readonly string[];
  /** Rows below the prompt. */
  below?(columns: number): readonly string[];
  /** True for a word that answers like its first letter, such as `yes`. */
  isAnswer?(word: string): boolean;
  readonly dim?: (text: string) => string;
}

/** Reads what a person types. Everything else is printed through it, above the prompt. */
export interface LineSource {
  /** Shows the prompt before a message is requested. Messages typed meanwhile are queued. */
  begin(prompt: string): void;
  /** The number of queued messages. */
  readonly queued: number;
  /** The next message; null when the input has ended. Queued messages come first, in order. */
  next(prompt: string): Promise<string | null>;
  /**
   * The answer to a question. Text typed before the question is kept and does not answer it. null when the input ends or `signal` cancels
   * the question. `hidden`: the answer is neither shown nor remembered.
   */
  ask(prompt: string, signal: AbortSignal, hidden?: boolean): Promise<string | null>;
  /**
   * As `ask`, for one key: on an empty line a key of `keys` answers at once; any other key begins a line that Enter completes. null when
   * the input ends or `signal` cancels the question.
   */
  choose(prompt: string, keys: string, signal: AbortSignal): Promise<string | null>;
  /** Prints. The next call continues a line that has no end yet. */
  write(text: string): void;
  /** Draws the prompt again, because the rows above or below it have changed. */
  redraw(): void;
  /** Puts text into the editor, before the queued messages and what is typed there. */
  takeBack(text?: string): void;
  /** Sends a message as if it had been typed; nothing while a question is open. */
  submit(text: string): void;
  clearScreen(): void;
  close(): void;
}

interface Question {
  readonly prompt: string;
  /** Keys that answer at once; null: the question needs a line. */
  readonly keys: string | null;
  readonly hidden: boolean;
  /** False while the person finishes a message that they began before. */
  open: boolean;
  answer(text: string | null): void;
}

interface Search {
  readonly query: string;
  readonly at: number;
  readonly found: string;
  readonly before: EditedText;
}

/** A line editor that stays below everything that is printed. */
export class LineEditor implements LineSource {
  readonly #area: LiveArea;
  readonly #mode: TerminalMode;
  readonly #keys: KeyStream;
  readonly #history: InputHistory;
  readonly #queue: string[] = [];
  #edited = EMPTY;
  #killed = '';
  #prompt: string | null = null;
  #waiting: ((text: string | null) => void) | null = null;
  #question: Question | null = null;
  /** The last key that answered, until the next Enter. */
  #answered = '';
  #search: Search | null = null;
  #completion = NOTHING;
  readonly #folded = new FoldedText();
  readonly #rows = new DraftRows();
  /** Another program has the terminal. */
  #isLent = false;
  /** Counts changes, so that a late completion is dropped. */
  #changes = 0;
  #ended = false;

  constructor(private readonly options: LineEditorOptions) {
    const { terminal, history } = options;
    this.#history = new InputHistory(history);
    this.#area = new LiveArea(terminal.output, (columns, rows) => this.#compose(columns, rows));
    this.#mode = new TerminalMode(terminal, () => this.#area.resized());
    this.#mode.enter();
    this.#keys = new KeyStream(terminal.input, { key: (key) => this.#key(key), ended: () => this.#end() });
  }

  begin(prompt: string): void {
    this.#prompt = prompt;
    this.#area.refresh();
  }

  get queued(): number {
    return this.#queue.length;
  }

  next(prompt: string): Promise<string | null> {
    if (this.#edited.text === '') this.#answered = ''; // the next text is another message
    this.#prompt = prompt;
    const queued = this.#queue.shift();
    if (queued !== undefined) {
      this.#leaveBehind(prompt, queued);
      return Promise.resolve(queued);
    }
    if (this.#ended) return Promise.resolve(null);
    this.#area.refresh();
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  ask(prompt: string, signal: AbortSignal, hidden = false): Promise<string | null> {
    return this.#ask(prompt, { keys: null, hidden }, signal);
  }

  choose(prompt: string, keys: string, signal: AbortSignal): Promise<string | null> {
    return this.#ask(prompt, { keys, hidden: false }, signal);
  }

  write(text: string): void {
    this.#area.write(text);
  }

  redraw(): void {
    this.#area.refresh();
  }

  takeBack(text = ''): void {
    const all = [text, ...this.#queue.splice(0), this.#edited.text].filter((each) => each !== '');
    if (all.length > 0) this.#set(atEnd(all.join('\n')));
    this.#area.refresh();
  }

  submit(text: string): void {
    if (this.#asked !== null) return; // it would be the answer
    this.#set(atEnd(text));
    this.#enter();
    this.#area.refresh();
  }

  clearScreen(): void {
    this.#area.clearScreen();
  }

  close(): void {
    this.#end();
    this.#keys.close();
    this.#area.close();
    this.#mode.leave();
  }

  #ask(prompt: string, { keys, hidden }: Pick<Question, 'keys' | 'hidden'>, signal: AbortSignal): Promise<string | null> {
    if (this.#ended || signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const settle = (text: string | null) => {
        signal.removeEventListener('abort', cancel);
        if (this.#question === question && question.open) this.#set(EMPTY);
        if (this.#question === question) this.#question = null;
        this.#area.refresh();
        resolve(text);
      };
      const cancel = () => settle(null);
      const question: Question = { prompt, keys, hidden, open: this.#mayOpen && this.#search === null, answer: settle };
      this.#question = question;
      signal.addEventListener('abort', cancel, { once: true });
      this.#area.refresh();
    });
  }

  /** The question that keys answer at present. */
  get #asked(): Question | null {
    return this.#question?.open === true ? this.#question : null;
  }

  /** What is being written, here or in another program, is never taken for an answer. */
  get #mayOpen(): boolean {
    return this.#edited.text === '' && !this.#isLent;
  }

  #openQuestion(): void {
    if (this.#question !== null && this.#mayOpen) this.#question.open = true;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#question?.answer(null);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(null);
    this.options.ended?.();
  }

  #key(key: Key): void {
    if (this.#ended) return;
    if (this.#search !== null && this.#searchKey(key, this.#search)) return this.#area.refresh();
    if (key.kind === 'paste') this.#paste(stripControls(key.text));
    else if (key.kind === 'text') this.#typed(key.text);
    else this.#named(key.name);
    this.#openQuestion();
    this.#area.refresh();
  }

  #paste(text: string): void {
    this.#insert(this.#asked === null ? this.#folded.fold(text, this.#edited.text) : text);
  }

  #typed(text: string): void {
    const asked = this.#asked;
    const isKey = asked?.keys?.includes(text) === true && this.#edited.text === '';
    this.#insert(text);
    if (isKey) setImmediate(() => this.#keyed(asked, text)); // not a delay: runs after the rest of this chunk of input, since the first of several keys is not an answer
  }

  #keyed(asked: Question, key: string): void {
    if (this.#asked !== asked || this.#edited.text !== key) return;
    this.#set(EMPTY);
    this.#leaveBehind(asked.prompt, key);
    this.#answered = key;
    asked.answer(key);
    this.#area.refresh();
  }

  #named(name: string): void {
    const edit = MOVES.get(name) ?? ERASURES.get(name);
    const kill = KILLS.get(name);
    const unmarked = name === 'backspace' ? this.#folded.withoutMark(this.#edited) : null;
    if (unmarked !== null) this.#set(unmarked);
    else if (edit !== undefined) this.#set(edit(this.#edited));
    else if (kill !== undefined) {
      const after = kill(this.#edited);
      if (this.#asked?.hidden !== true) this.#killed = removed(this.#edited, after) || this.#killed; // hidden answers are never kept
      this.#set(after);
    } else this.#command(name);
  }

  #command(name: string): void {
    const isHidden = this.#asked?.hidden === true;
    switch (name) {
      case 'enter':
        return this.#enter();
      case 'shift-enter':
      case 'alt-enter':
      case 'ctrl-enter':
        return isHidden ? this.#enter() : this.#insert('\n');
      case 'up':
      case 'ctrl-p':
        return this.#up();
      case 'down':
      case 'ctrl-n':
        return this.#down();
      case 'tab':
        return isHidden ? undefined : this.#complete();
      case 'ctrl-y':
        return this.#insert(this.#killed);
      case 'ctrl-r':
        if (this.#asked === null) this.#search = { query: '', at: -1, found: '', before: this.#edited };
        return;
      case 'ctrl-g':
        return this.#asked === null ? void this.#editElsewhere() : undefined;
      case 'ctrl-v':
        return this.#asked === null ? void this.#insertClipboard() : undefined;
      case 'focus-in':
      case 'focus-out':
        return this.options.focused?.(name === 'focus-in');
      case 'ctrl-l':
        return this.#area.clearScreen();
      case 'ctrl-c':
        if (this.options.interrupted(this.#edited.text)) this.#set(EMPTY);
        return;
      case 'ctrl-d':
        if (this.#edited.text === '') return this.#end();
        return this.#set(ERASURES.get('delete')!(this.#edited));
      case 'ctrl-z':
        this.#area.hide();
        return this.#mode.suspend(() => this.#area.show());
      case 'escape':
        if (this.#completion.items.length > 0) return this.#forgetCompletion();
        return this.options.escaped(this.#edited.text);
    }
  }

  async #editElsewhere(): Promise<void> {
    const { editElsewhere } = this.options;
    if (editElsewhere === undefined || this.#isLent) return;
    this.#isLent = true;
    this.#area.hide();
    this.#mode.leave();
    this.#keys.pause();
    try {
      const text = await editElsewhere(this.#folded.unfold(this.#edited.text));
      if (text !== null) this.#set(atEnd(stripControls(text).replace(/\n$/u, '')));
    } finally {
      this.#isLent = false;
      if (!this.#ended) {
        this.#mode.enter();
        this.#keys.listen();
        this.#openQuestion();
        this.#area.show();
      }
    }
  }

  async #insertClipboard(): Promise<void> {
    const text = (await this.options.clipboard?.()) ?? null;
    if (text === null || this.#ended || this.#asked !== null) return;
    this.#paste(stripControls(text));
    this.#area.refresh();
  }

  #enter(): void {
    const text = this.#withAnswer(this.#edited.text);
    const asked = this.#asked;
    if (text === null) return this.#set(EMPTY);
    if (asked !== null) {
      if (asked.keys !== null && text.trim() === '') return;
      this.#leaveBehind(asked.prompt, asked.hidden ? '' : text);
      return asked.answer(text);
    }
    if (text.endsWith('\\') && !text.endsWith('\\\\')) return this.#set(atEnd(`${text.slice(0, -1)}\n`));
    if (text.trim() === '') return this.#set(EMPTY);
    const whole = this.#folded.unfold(text);
    this.#folded.clear();
    this.#set(EMPTY);
    this.#history.add(whole);
    this.options.entered?.(whole);
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null) return void this.#queue.push(whole);
    this.#leaveBehind(this.#prompt ?? '', text);
    waiting(whole);
  }

  /**
   * The message after a key has answered. The first letter of a word has answered already: the rest of the word alone means nothing (null);
   * with more text it is the message `no, because`.
   */
  #withAnswer(text: string): string | null {
    const answered = this.#answered;
    this.#answered = '';
    const word = answered + (/^\p{L}+/u.exec(text)?.[0] ?? '');
    if (answered === '' || word === answered || this.options.isAnswer?.(word) !== true) return text;
    return answered + text.trim() === word ? null : answered + text;
  }

  #up(): void {
    const moved = moveLine(this.#edited, -1);
    if (moved !== null) return this.#set(moved, false);
    if (this.#asked !== null) return;
    if (this.#edited.text === '' && this.#queue.length > 0) return this.#set(atEnd(this.#queue.pop() ?? ''));
    const older = this.#history.older(this.#edited.text);
    if (older !== null) this.#set(older, false);
  }

  #down(): void {
    const moved = moveLine(this.#edited, 1);
    if (moved !== null) return this.#set(moved, false);
    const newer = this.#asked === null ? this.#history.newer() : null;
    if (newer !== null) this.#set(newer, false);
  }

  #insert(text: string): void {
    const shown = this.#asked?.hidden === true ? text.replaceAll('\n', '') : text;
    this.#set(insert(this.#edited, shown));
    if (!this.#asked?.hidden && this.options.suggests?.(this.#edited.text, this.#edited.cursor) === true) void this.#suggest();
  }

  #set(edited: EditedText, leavesHistory = true): void {
    if (leavesHistory && edited.text !== this.#edited.text) this.#history.leave();
    this.#edited = edited;
    this.#forgetCompletion();
  }

  #forgetCompletion(): void {
    this.#changes += 1;
    this.#completion = NOTHING;
  }

  /** null: the person has typed since. */
  async #completions(): Promise<Completion | null> {
    const before = this.#changes;
    const { text, cursor } = this.#edited;
    try {
      const found = await this.options.complete(text, cursor);
      return before === this.#changes && !this.#ended ? found : null;
    } catch {
      return null; // a failed completion is not an error
    }
  }

  async #suggest(): Promise<void> {
    const found = await this.#completions();
    if (found === null) return;
    const typed = this.#edited.text.slice(found.from, this.#edited.cursor);
    this.#completion = found.items.length === 1 && found.items[0]?.trimEnd() === typed ? NOTHING : found;
    this.#area.refresh();
  }

  #complete(): void {
    void this.#completions().then((found) => {
      if (found === null || found.items.length === 0) return;
      const typed = this.#edited.text.slice(found.from, this.#edited.cursor);
      const common = commonBeginning(found.items);
      const isProgress = common.length > typed.length || found.items.length === 1;
      if (isProgress) this.#set(replaceBefore(this.#edited, found.from, common));
      if (found.items.length > 1) this.#completion = found;
      this.#area.refresh();
    });
  }

  /** False: the search is over, and the key has its usual meaning. */
  #searchKey(key: Key, search: Search): boolean {
    const name = key.kind === 'key' ? key.name : '';
    if (key.kind !== 'key') this.#find(search, search.query + stripControls(key.text), 0);
    else if (name === 'backspace' || name === 'ctrl-h') this.#find(search, [...search.query].slice(0, -1).join(''), 0);
    else if (name === 'ctrl-r' || name === 'up') this.#find(search, search.query, search.at + 1);
    else if (name === 'escape' || name === 'ctrl-c' || name === 'ctrl-g') {
      this.#search = null;
      this.#set(search.before);
    } else {
      this.#search = null;
      const isFound = search.query !== '' && search.found !== '';
      this.#set(isFound ? atEnd(search.found) : search.before);
      return name === 'tab' || name === 'right' || name === 'end' || (name === 'enter' && !isFound); // a draft must not be sent by accident
    }
    return true;
  }

  #find(search: Search, query: string, from: number): void {
    const found = this.#history.find(query, from);
    const kept = query === '' ? { at: -1, found: '' } : { at: search.at, found: search.found };
    this.#search = { ...search, query, ...(found === null ? kept : { at: found.at, found: found.text }) };
  }

  #leaveBehind(prompt: string, text: string): void {
    const sent = sentLines(prompt, text);
    const columns = this.options.terminal.output.columns ?? Infinity;
    this.#area.write(`${displayWidth(prompt) > columns ? wrapLines(sent, columns) : sent}\n`); // wraps a long question between words, a message anywhere
  }

  #compose(columns: number, rows: number): AreaFrame {
    const { above, below, dim = String } = this.options;
    const upper = [...(above?.(columns) ?? [])];
    for (const text of this.#queue) upper.push(dim(`queued: ${printableLine(text.replaceAll(/\s+/gu, ' '), 200)}`));
    const question = this.#question;
    if (question !== null && !question.open) upper.push(dim('A question waits: send or clear this message first'));
    const isLine = this.#asked !== null && this.#asked.keys !== null && this.#edited.text !== '';
    if (isLine) upper.push(dim('No single key now: Enter answers with this line, Ctrl-U brings the keys back'));
    const prompt = this.#asked?.prompt ?? this.#prompt;
    if (prompt === null || this.#ended) return { rows: upper, cursor: { row: Math.max(0, upper.length - 1), column: 0 } };
    const lower = [
      ...listRows(this.#completion.items, columns).map(dim),
      ...(this.#asked?.hidden === true ? [] : (below?.(columns) ?? [])),
    ];
    const typed = this.#typedRows(prompt, columns);
    // The cursor's row is always visible, whatever else has room.
    const room = Math.max(1, rows - Math.min(upper.length + lower.length, Math.floor(rows / 2)));
    const from = Math.max(0, Math.min(typed.row - room + 1, typed.rows.length - room));
    const shown = typed.rows.slice(from, from + room);
    const spare = Math.max(0, rows - shown.length);
    const under = lower.slice(0, Math.min(lower.length, spare));
    const over = spare - under.length > 0 ? upper.slice(-(spare - under.length)) : [];
    return { rows: [...over, ...shown, ...under], cursor: { row: over.length + typed.row - from, column: typed.column } };
  }

  #typedRows(prompt: string, columns: number) {
    const search = this.#search;
    if (search !== null) {
      const missed = search.query !== '' && !search.found.toLowerCase().includes(search.query.toLowerCase());
      return this.#rows.layOut(`${missed ? 'not found' : 'search'} '${printableLine(search.query)}': `, atEnd(search.found), columns);
    }
    return this.#rows.layOut(prompt, this.#asked?.hidden === true ? EMPTY : this.#edited, columns);
  }
}

/** Removes characters that control the terminal or are invisible; line ends and tabs stay. */
function stripControls(text: string): string {
  return text.replaceAll(/\r\n?/gu, '\n').replaceAll(/[^\P{Cc}\n\t]/gu, '');
}
