import { codeOf, type Command, type CommandIO } from 'pith';
import { answerOf, type AnswerKey } from './answer-keys.ts';
import type { ChatScreen } from './chat-screen.ts';
import { errorLine, fields, list, query, text, openQuestions, runCommand } from './commands.ts';

export interface QuestionsOptions {
  readonly screen: ChatScreen;
  readonly commands: () => Promise<readonly Command[]>;
  /** Where commands speak; its session names the conversation. */
  readonly io: () => CommandIO;
  /** Runs a slash command that is typed in the place of an answer. `no command`: the line is none. `left`: the person leaves the chat, or the conversation. */
  readonly slash: (line: string, signal: AbortSignal) => Promise<'done' | 'no command' | 'left'>;
}

interface OpenQuestion {
  readonly id: string;
  /** By which a person names it. */
  readonly name: string;
  /** Its conversation. */
  readonly thread: string;
  /** `once`, `always`, `project`, `no`: those that it takes. */
  readonly answers: readonly string[];
  /** What an `always` covers; absent where it is not offered. */
  readonly covers: string | undefined;
}

interface Answer {
  readonly choice: 'once' | 'always' | 'project' | 'no';
  readonly reason: string;
}

/** What is around the lines that a tool shows: summary, who asks, what is enforced, the prompt. */
const AROUND = 8;
const FEWEST_LINES = 5;

/** What tools ask a person, in the conversation that is open here. */
export class Questions {
  constructor(private readonly options: QuestionsOptions) {}

  /** The open questions of a conversation, oldest first. */
  async openIn(threadId: string, signal: AbortSignal): Promise<readonly OpenQuestion[]> {
    return (await openQuestions(await this.options.commands(), threadId, signal)).flatMap(questionOf);
  }

  /** Asks all of them, one after the other. True when each has its answer, from here or elsewhere: the turn can go on. Never rejects. */
  async ask(threadId: string, signal: AbortSignal): Promise<boolean> {
    try {
      for (;;) {
        const [question] = await this.openIn(threadId, signal);
        if (question === undefined) return true;
        if (!(await this.#settle(question, signal))) return false;
      }
    } catch (error) {
      if (!signal.aborted) this.options.io().error(errorLine(error));
      return false;
    }
  }

  /** The question that a line such as `/approvals 2` names; null: it names none. */
  namedIn(line: string): string | null {
    return /^\/approvals\s+(\d+|[0-9a-z]{6}-[0-9a-z]{4})\s*$/u.exec(line.trim())?.[1] ?? null;
  }

  /** Shows one question, whose conversation may be another, and asks it while it is open. Never rejects. */
  async askOne(name: string, signal: AbortSignal): Promise<void> {
    try {
      const asked = fields(await query(await this.options.commands(), ['approvals', name], signal));
      const [question] = questionOf(asked);
      if (question === undefined || text(asked['answer']) !== undefined) await this.#run(['approvals', name], signal);
      else await this.#settle(question, signal);
    } catch (error) {
      if (!signal.aborted) this.options.io().error(errorLine(error));
    }
  }

  /** False: the person left it open. */
  async #settle(question: OpenQuestion, signal: AbortSignal): Promise<boolean> {
    const { io, screen } = this.options;
    const { id, name, thread } = question;
    if (this.#isElsewhere(question)) io().print(screen.colour.dim(`The question belongs to conversation ${thread}`));
    await this.#run(['approvals', id, '--lines', String(this.#room())], signal);
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const elsewhere = this.#answeredElsewhere(id, both).then(
      (line) => ({ line }),
      (error: unknown) => {
        if (both.aborted) return null;
        throw error;
      },
    );
    const here = this.#askPerson(question, both);
    try {
      const first = await Promise.race([elsewhere, here]);
      if (first !== null && 'line' in first) {
        io().print(screen.colour.dim(first.line));
        return true;
      }
    } finally {
      stop.abort();
      await Promise.allSettled([elsewhere, here]); // the lines of a person are read by one at a time
    }
    const answer = await here;
    if (answer !== null) return this.#answer(id, answer, signal);
    const left = this.#isElsewhere(question)
      ? `The question of conversation ${thread} stays open: /thread ${thread} asks it again`
      : `The question stays open: answer it with /approvals ${name}, or send a message instead`;
    io().print(screen.colour.dim(left));
    return false;
  }

  #isElsewhere({ thread }: OpenQuestion): boolean {
    return thread !== this.options.io().session?.threadId;
  }

  /** null: the person left the question, by Ctrl-C or the end of the input. */
  async #askPerson(question: OpenQuestion, signal: AbortSignal): Promise<Answer | null> {
    const { screen, io, slash } = this.options;
    const keys = keysOf(question);
    for (;;) {
      const typed = await screen.questions.choose(screen.colour.yellow(promptOf(question)), keys.join(''), signal);
      if (typed === null) return null;
      if (typed.trim() === '') continue;
      const reason = /^no?[\s,.:;-]+(\S.*)$/isu.exec(typed.trim())?.[1];
      if (reason !== undefined) return { choice: 'no', reason };
      const key = answerOf(typed);
      if (key === 'y') return { choice: 'once', reason: '' };
      if (key === 'n') return { choice: 'no', reason: '' };
      if (key === 'e') {
        const why = await screen.questions.ask(screen.colour.yellow('Why not? (the agent reads it) '), signal);
        return why === null ? null : { choice: 'no', reason: why.trim() };
      }
      if (key === 'v') await this.#run(['approvals', question.id, '--all'], signal);
      else if (key === '?') for (const line of keyHelp(question)) io().print(screen.colour.dim(line));
      else if (key !== null && keys.includes(key)) return { choice: key === 'a' ? 'always' : 'project', reason: '' };
      else if (key !== null)
        io().print(screen.colour.dim(`${key === 'a' ? 'Always' : 'Always in this project'} is not offered for this call`));
      else {
        const done = await slash(typed, signal);
        if (done === 'left') return null;
        if (done === 'no command')
          io().print(screen.colour.dim('That is not an answer, so nothing happened: y allows this call, n refuses it, ? shows all keys'));
      }
    }
  }

  async #answer(id: string, { choice, reason }: Answer, signal: AbortSignal): Promise<boolean> {
    const how = choice === 'always' || choice === 'project' ? [`--${choice}`] : [];
    const words = choice === 'no' ? ['reject', id, ...(reason === '' ? [] : [`--reason=${reason}`])] : ['approve', id, ...how];
    try {
      await this.#run(['approvals', ...words], signal);
      return true;
    } catch (error) {
      if (codeOf(error, '') !== 'approval_answered') throw error;
      this.options.io().print(this.options.screen.colour.dim(errorLine(error))); // somebody was quicker
      return true;
    }
  }

  async #answeredElsewhere(id: string, signal: AbortSignal): Promise<string> {
    const answered = fields(await query(await this.options.commands(), ['approvals', id, '--wait'], signal));
    const [answer, by, reason] = ['answer', 'by', 'reason'].map((name) => text(answered[name]));
    if (by === undefined) return `Not approved: ${reason ?? 'nobody answered'}`;
    return `Answered elsewhere by ${by}: ${answer}${reason === undefined ? '' : ` (${reason})`}`;
  }

  #room(): number {
    const { rows } = this.options.screen;
    return rows === 0 ? 40 : Math.max(FEWEST_LINES, rows - AROUND);
  }

  async #run(words: readonly string[], signal: AbortSignal): Promise<void> {
    await runCommand(await this.options.commands(), words, this.options.io(), signal);
  }
}

function questionOf(question: ReturnType<typeof fields>): readonly OpenQuestion[] {
  const id = text(question['id']);
  const number = question['number'];
  const answers = list(question['answers']).flatMap((answer) => text(answer) ?? []);
  const name = typeof number === 'number' && number > 0 ? String(number) : id;
  const thread = text(question['thread']);
  return id === undefined || name === undefined || thread === undefined
    ? []
    : [{ id, name, thread, answers, covers: text(question['covers']) }];
}

/** The keys that answer, those that are not offered left out. */
function keysOf({ answers }: OpenQuestion): readonly AnswerKey[] {
  return [
    'y',
    ...(answers.includes('always') ? (['a'] as const) : []),
    ...(answers.includes('project') ? (['p'] as const) : []),
    ...(['n', 'e', 'v', '?'] as const),
  ];
}

/** By each key: how the prompt offers it, and what it does. */
function wordsFor({ covers }: OpenQuestion): Readonly<Record<AnswerKey, readonly [prompt: string, help: string]>> {
  const calls = covers ?? 'such calls';
  return {
    y: ['[y]es', 'allow this call'],
    a: [`[a]lways in this chat${covers === undefined ? '' : ` (${covers})`}`, `allow ${calls} in this chat, without asking again`],
    p: ['always in this [p]roject', `allow ${calls} in every chat of this project; /permissions shows and removes it`],
    n: ['[n]o', 'refuse; the agent goes on without it'],
    e: ['[e]xplain no', 'refuse and say why; the agent reads it'],
    v: ['[v]iew all', 'show everything, however long'],
    '?': ['[?]', 'show these keys'],
  };
}

function promptOf(question: OpenQuestion): string {
  const words = wordsFor(question);
  return `Allow? ${keysOf(question)
    .map((key) => words[key][0])
    .join(', ')} `;
}

function keyHelp(question: OpenQuestion): readonly string[] {
  const words = wordsFor(question);
  return [
    ...keysOf(question).map((key) => `  ${key}  ${words[key][1]}`),
    '  Words work too: yes, always, project, no. A slash command runs, and the question stays. Ctrl-C leaves it open.',
  ];
}
