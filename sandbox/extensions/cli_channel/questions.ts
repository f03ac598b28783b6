import { codeOf, type Command, type CommandIO } from 'pith';
import { matchCommand, parseCommandInput } from '@pith/command-line';
import { errorLine } from './error-line.ts';
import type { LineEditor } from './line-editor.ts';
import { fields, list, query, text } from './query.ts';

export interface QuestionsOptions {
  readonly editor: Pick<LineEditor, 'ask'>;
  readonly commands: () => Promise<readonly Command[]>;
  /** Where commands speak; its session names the conversation. */
  readonly io: () => CommandIO;
  readonly dim: (line: string) => string;
  readonly prompt: (line: string) => string;
}

interface OpenQuestion {
  readonly id: string;
  /** `always` is no answer to it. */
  readonly once: boolean;
}

type Choice = 'once' | 'always' | 'no';

const CHOICES: ReadonlyMap<string, Choice> = new Map([
  ['once', 'once'],
  ['o', 'once'],
  ['always', 'always'],
  ['a', 'always'],
  ['no', 'no'],
  ['n', 'no'],
]);

/** Means that it may run, and not how often. */
const YES = /^(?:y|yes|ok|okay|sure|approve|run)[.!]?$/i;

/** What tools ask a person, in the conversation that is open here. */
export class Questions {
  constructor(private readonly options: QuestionsOptions) {}

  /** The open questions of a conversation, oldest first. */
  async openIn(threadId: string, signal: AbortSignal): Promise<readonly OpenQuestion[]> {
    const open = list(await query(await this.options.commands(), ['approvals', 'list'], signal)).map(fields);
    return open.flatMap((question) => {
      const id = text(question['id']);
      return text(question['thread']) === threadId && id !== undefined ? [{ id, once: question['once'] === true }] : [];
    });
  }

  /** Asks all of them, one after the other. True when each has its answer, from here or elsewhere: the turn can go on. Never rejects. */
  async ask(threadId: string, signal: AbortSignal): Promise<boolean> {
    const { io, dim } = this.options;
    try {
      for (;;) {
        const [question] = await this.openIn(threadId, signal);
        if (question === undefined) return true;
        const { id } = question;
        if (await this.#settle(question, signal)) continue;
        io().print(dim(`It stays open: answer with /approvals approve ${id} or /approvals reject ${id}, or send a message instead`));
        return false;
      }
    } catch (error) {
      if (!signal.aborted) io().error(errorLine(error));
      return false;
    }
  }

  async #settle({ id, once }: OpenQuestion, signal: AbortSignal): Promise<boolean> {
    const { io, dim } = this.options;
    await this.#run(['approvals', 'show', id], signal);
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const elsewhere = this.#answeredElsewhere(id, both).then(
      (line) => ({ line }),
      (error: unknown) => {
        if (both.aborted) return null;
        throw error;
      },
    );
    const here = this.#askPerson(once, both);
    try {
      const first = await Promise.race([elsewhere, here]);
      if (first === null) return false;
      if ('line' in first) {
        io().print(dim(first.line));
        return true;
      }
    } finally {
      stop.abort();
      await Promise.allSettled([elsewhere, here]); // the lines of a person are read by one at a time
    }
    const answer = await here;
    return answer !== null && this.#answer(id, answer, signal);
  }

  /** Another message is a no, and the reason. null: the person left the question, by Ctrl-C or the end of the input. */
  async #askPerson(once: boolean, signal: AbortSignal): Promise<{ readonly choice: Choice; readonly reason: string } | null> {
    const { editor, prompt, io, dim } = this.options;
    for (;;) {
      const typed = await editor.ask(prompt(`Run it? [${once ? 'once/no' : 'once/always/no'}] `), signal);
      if (typed === null) return null;
      const words = typed.trim();
      if (words === '') continue;
      const choice = CHOICES.get(words.toLowerCase());
      if (choice === 'no') {
        const reason = await editor.ask(prompt('Why not? (the model reads it; Enter: no reason) '), signal);
        return reason === null ? null : { choice, reason: reason.trim() };
      }
      if (choice === 'always' && once) {
        io().print(dim('Always is not offered here: each such call needs its own approval. Write once for this call, or no'));
        continue;
      }
      if (choice !== undefined) return { choice, reason: '' };
      if (!YES.test(words)) return { choice: 'no', reason: words.replace(/^no\b[\s,.:;-]*/i, '') };
      io().print(
        dim(once ? 'Write once for this call, or no' : 'Write once for this call, or always for all that the question says above'),
      );
    }
  }

  async #answer(
    id: string,
    { choice, reason }: { readonly choice: Choice; readonly reason: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const words = choice === 'no' ? ['reject', id, ...(reason === '' ? [] : [`--reason=${reason}`])] : ['approve', id];
    try {
      await this.#run(['approvals', ...words, ...(choice === 'always' ? ['--always'] : [])], signal);
      return true;
    } catch (error) {
      if (codeOf(error, '') !== 'approval_answered') throw error;
      this.options.io().print(this.options.dim(errorLine(error))); // somebody was quicker
      return true;
    }
  }

  async #answeredElsewhere(id: string, signal: AbortSignal): Promise<string> {
    const answered = fields(await query(await this.options.commands(), ['approvals', 'wait', id], signal));
    const [answer, by, reason] = ['answer', 'by', 'reason'].map((name) => text(answered[name]));
    if (by === undefined) return `Not approved: ${reason ?? 'nobody answered'}`;
    return `Answered elsewhere by ${by}: ${answer}${reason === undefined ? '' : ` (${reason})`}`;
  }

  async #run(words: readonly string[], signal: AbortSignal): Promise<void> {
    const found = matchCommand(await this.options.commands(), words);
    if (found) await found.command.run(parseCommandInput(found.command, found.rest), this.options.io(), signal);
  }
}
