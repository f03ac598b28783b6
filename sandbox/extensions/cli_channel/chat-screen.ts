import pc from 'picocolors';
import type { CommandIO } from 'pith';
import { printable, printablePainted, wrapLines, displayWidth } from '@pith/plain-text';
import type { Attention } from './attention.ts';
import { answerOf } from './answer-keys.ts';
import type { ChatStatus } from './chat-status.ts';
import { suggestsAt } from './completion.ts';
import { type Surface, widthOf } from './terminal.ts';
import { printedHints, typedHints } from './commands.ts';
import { renderMarkdown } from './markdown-stream.ts';
import { LineEditor, PlainLines, type LineEditorOptions, type LineSource } from '@pith/line-editor';

export type ScreenOptions = Pick<
  LineEditorOptions,
  'terminal' | 'history' | 'complete' | 'interrupted' | 'escaped' | 'entered' | 'ended' | 'editElsewhere' | 'clipboard'
> & {
  readonly attention: Attention;
  readonly io: CommandIO;
  /** Nothing is drawn again, and nothing coloured: for screen readers, and terminals that cannot move their cursor. */
  readonly plain: boolean;
};

/** What a conversation shows, and where a person types: lines, notices of others, rows that last for a while, the line of status. */
export class ChatScreen {
  readonly colour: ReturnType<typeof pc.createColors>;
  readonly editor: LineSource;
  readonly surface: Surface;
  status: ChatStatus | null = null;
  /** Paths of commands, by which hints name them as they are typed here. */
  paths: readonly string[] = [];
  /** An answer is being shown: notices wait until it pauses. */
  isAnswering = false;
  readonly #pending: string[] = [];
  #openQuestions = 0;
  #live: readonly string[] = [];

  constructor(private readonly options: ScreenOptions) {
    const { io, plain, attention, ...typing } = options;
    this.colour = pc.createColors(io.colour);
    this.editor = new (plain ? PlainLines : LineEditor)({
      ...typing,
      suggests: suggestsAt,
      focused: (isFocused) => attention.focused(isFocused),
      isAnswer: (word) => answerOf(word) !== null,
      above: () => this.#live,
      below: (columns) => [this.status?.line(columns) ?? ''].filter((line) => line !== '').map(this.colour.dim),
      dim: this.colour.dim,
    });
    this.surface = {
      write: (part) => this.editor.write(part),
      live: (rows) => {
        this.#live = rows;
        this.editor.redraw();
      },
      liveRows: plain ? 'none' : 'all',
    };
  }

  write(line: string): void {
    this.editor.write(`${wrapLines(printablePainted(line), this.columns)}\n`);
  }

  writeDim(line: string): void {
    this.write(this.colour.dim(line));
  }

  hint(text: string): string {
    return typedHints(text, this.paths);
  }

  /** Asks the person. While a question is open, notices appear above it. */
  readonly questions: Pick<LineSource, 'ask' | 'choose'> = {
    ask: (prompt, signal, hidden) => this.#whileOpen(() => this.editor.ask(prompt, signal, hidden)),
    choose: (prompt, keys, signal) => this.#whileOpen(() => this.editor.choose(prompt, keys, signal)),
  };

  /** Shows what comes from elsewhere: at once, or where the answer pauses. */
  notify(message: string): void {
    this.#pending.push(this.#noticeBlock(this.hint(message)));
    if (!this.isAnswering || this.#openQuestions > 0) this.printNotices();
    this.status?.refresh();
  }

  printNotices(): void {
    for (const block of this.#pending.splice(0)) this.editor.write(`${block}\n`);
  }

  /** Where commands speak. `signal` takes a question of theirs away. */
  commandIO(signal: AbortSignal, session: CommandIO['session']): CommandIO {
    return {
      ...this.options.io,
      print: (line) => this.write(printedHints(line, this.paths)),
      error: (line) => this.write(this.colour.red(printable(line))),
      columns: this.columns,
      ask: (asked, { choices, secret } = {}) => this.#ask(printable(asked), choices, secret, signal),
      ...(session === undefined ? {} : { session }),
    };
  }

  /** A text from outside of the conversation, as Markdown. All but its mark is indented, so that no line of it looks like one of Pith's. */
  #noticeBlock(text: string): string {
    const lines = renderMarkdown(text, { colour: this.options.io.colour, columns: this.columns - 2 }).split('\n');
    return lines.map((line, at) => (at === 0 ? `${this.colour.yellow('●')} ${line}` : line === '' ? '' : `  ${line}`)).join('\n');
  }

  /** The answer; one of the choices where there are some, of which a beginning is enough. null when the input ends, or the person leaves the question. */
  async #ask(
    question: string,
    choices: readonly string[] | undefined,
    isSecret: boolean | undefined,
    signal: AbortSignal,
  ): Promise<string | null> {
    const isYesOrNo = choices?.length === 2 && choices[0] === 'yes' && choices[1] === 'no';
    const answers = isYesOrNo ? '[y]es, [n]o ' : choices ? `[${choices.join('/')}] ` : '';
    const isLong = displayWidth(question) + displayWidth(answers) + 1 > this.columns;
    if (isLong) this.write(question); // above the line where it is answered
    const prompt = isLong ? answers : `${question} ${answers}`;
    for (;;) {
      const answer = isYesOrNo ? await this.questions.choose(prompt, 'yn', signal) : await this.questions.ask(prompt, signal, isSecret);
      if (answer === null || isSecret === true) return answer;
      const typed = answer.trim();
      if (this.#isCommand(typed)) return (this.editor.submit(typed), null);
      if (choices === undefined) return typed;
      const chosen = isYesOrNo ? ({ y: 'yes', n: 'no' } as const)[answerOf(typed) as 'y' | 'n'] : choiceIn(choices, typed);
      if (chosen !== undefined) return chosen;
      this.writeDim(`Answer with ${choices.join(' or ')}; Ctrl-C leaves the question`);
    }
  }

  /** Typed in the place of an answer, a slash command leaves the question. */
  #isCommand(typed: string): boolean {
    const word = /^\/(\S+)/u.exec(typed)?.[1];
    return this.paths.some((path) => path.split(' ', 1)[0] === word);
  }

  async #whileOpen(ask: () => Promise<string | null>): Promise<string | null> {
    this.printNotices();
    this.#openQuestions += 1;
    this.options.attention.call('a question waits');
    try {
      return await ask();
    } finally {
      this.options.attention.seen();
      this.#openQuestions -= 1;
    }
  }

  /** Of the terminal; 0: it does not say. */
  get rows(): number {
    return this.options.terminal.output.rows ?? 0;
  }

  get columns(): number {
    return widthOf(this.options.terminal);
  }
}

function choiceIn(choices: readonly string[], typed: string): string | undefined {
  const meant = choices.filter((choice) => choice.toLowerCase().startsWith(typed.toLowerCase()));
  return choices.find((choice) => choice === typed) ?? (typed !== '' && meant.length === 1 ? meant[0] : undefined);
}
