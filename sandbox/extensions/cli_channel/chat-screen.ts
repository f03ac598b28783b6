import pc from 'picocolors';
import type { CommandIO } from 'pith';
import { printable, printablePainted, wrapLines, displayWidth } from '@pith/plain-text';
import { answerOf } from './answer-words.ts';
import type { ChatStatus } from './chat-status.ts';
import { suggestsAt } from './completion.ts';
import { openEditor, type LineEditor } from './line-editor.ts';
import { type Surface, widthOf, type Terminal } from './terminal.ts';
import { printedHints, typedHints } from './typed-hints.ts';
import { renderMarkdown } from './markdown-stream.ts';

export interface ScreenOptions {
  readonly terminal: Terminal;
  readonly io: CommandIO;
  /** Nothing is drawn again, and nothing coloured. */
  readonly plain: boolean;
  /** Newest first. */
  readonly history: readonly string[];
  readonly complete: (typed: string, cursor: number) => ReturnType<Parameters<typeof openEditor>[0]['complete']>;
  /** Ctrl-C. True: the text that was typed goes. */
  readonly interrupted: (typed: string) => boolean;
  readonly escaped: () => void;
  readonly ended: () => void;
}

/** Lines below the prompt while something is awaited: what it is, and ten of its output. */
const LIVE_ROWS = 11;

/** What a conversation shows, and where a person types: lines, notices of others, rows that last for a while, the line of status. */
export class ChatScreen {
  readonly colour: ReturnType<typeof pc.createColors>;
  readonly editor: LineEditor;
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
    const { terminal, io, plain, history, complete, interrupted, escaped, ended } = options;
    this.colour = pc.createColors(io.colour);
    this.editor = openEditor(
      {
        terminal,
        history,
        complete,
        suggests: suggestsAt,
        isAnswer: (word) => answerOf(word) !== null,
        interrupted,
        escaped,
        ended,
        above: () => this.#live,
        below: (columns) => [this.status?.line(columns) ?? ''].filter((line) => line !== '').map(this.colour.dim),
        dim: this.colour.dim,
      },
      plain,
    );
    this.surface = {
      write: (part) => this.editor.write(part),
      live: (rows) => {
        this.#live = rows;
        this.editor.redraw();
      },
      liveRows: plain ? 0 : LIVE_ROWS,
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
  readonly questions: Pick<LineEditor, 'ask' | 'choose'> = {
    ask: (prompt, signal, hidden) => this.#whileOpen(() => this.editor.ask(prompt, signal, hidden)),
    choose: (prompt, keys, signal) => this.#whileOpen(() => this.editor.choose(prompt, keys, signal)),
  };

  /** Shows what comes from elsewhere: at once, or where the answer pauses. */
  notify(message: string): void {
    const { colour, columns } = this;
    this.#pending.push(noticeBlock(this.hint(message), colour.yellow('●'), { colour: this.options.io.colour, columns }));
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
      ask: (asked, { choices, secret } = {}) => {
        const show = { columns: this.columns, print: (line: string) => this.write(line), hint: (line: string) => this.writeDim(line) };
        return askPerson(this.questions, { question: printable(asked), choices, secret, ...show }, signal);
      },
      ...(session === undefined ? {} : { session }),
    };
  }

  async #whileOpen(ask: () => Promise<string | null>): Promise<string | null> {
    this.printNotices();
    this.#openQuestions += 1;
    try {
      return await ask();
    } finally {
      this.#openQuestions -= 1;
    }
  }

  get rows(): number {
    return this.options.terminal.output.rows ?? 0;
  }

  get columns(): number {
    return widthOf(this.options.terminal);
  }
}

/** A text from outside of the conversation, rendered as Markdown. All but its mark is indented, so that no line of it looks like one of Pith's. */
function noticeBlock(text: string, mark: string, options: { readonly colour: boolean; readonly columns: number }): string {
  const lines = renderMarkdown(text, { ...options, columns: options.columns - 2 }).split('\n');
  return lines.map((line, at) => (at === 0 ? `${mark} ${line}` : line === '' ? '' : `  ${line}`)).join('\n');
}

interface PersonQuestion {
  readonly question: string;
  readonly choices?: readonly string[];
  readonly secret?: boolean;
  /** Of the terminal: a longer question is printed above the line where it is answered. */
  readonly columns: number;
  readonly print: (line: string) => void;
  /** Shows which answers there are, after one that is none of them. */
  readonly hint: (line: string) => void;
}

/** The answer; one of the choices where there are some, of which a beginning is enough. null when the input ends, or the person leaves the question. */
async function askPerson(
  editor: Pick<LineEditor, 'ask' | 'choose'>,
  { question, choices, secret, columns, print, hint }: PersonQuestion,
  signal: AbortSignal,
): Promise<string | null> {
  const isYesOrNo = choices?.length === 2 && choices[0] === 'yes' && choices[1] === 'no';
  const answers = isYesOrNo ? '[y]es, [n]o ' : choices ? `[${choices.join('/')}] ` : '';
  const isLong = displayWidth(question) + displayWidth(answers) + 1 > columns;
  if (isLong) print(question);
  const prompt = isLong ? answers : `${question} ${answers}`;
  for (;;) {
    const answer = isYesOrNo ? await editor.choose(prompt, 'yn', signal) : await editor.ask(prompt, signal, secret);
    if (answer === null || secret === true) return answer;
    const typed = answer.trim();
    if (choices === undefined) return typed;
    const chosen = isYesOrNo ? ({ y: 'yes', n: 'no' } as const)[answerOf(typed) as 'y' | 'n'] : choiceIn(choices, typed);
    if (chosen !== undefined) return chosen;
    hint(`Answer with ${choices.join(' or ')}; Ctrl-C leaves the question`);
  }
}

function choiceIn(choices: readonly string[], typed: string): string | undefined {
  const meant = choices.filter((choice) => choice.toLowerCase().startsWith(typed.toLowerCase()));
  return choices.find((choice) => choice === typed) ?? (typed !== '' && meant.length === 1 ? meant[0] : undefined);
}
