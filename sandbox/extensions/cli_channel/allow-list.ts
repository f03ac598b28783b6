import path from 'node:path';
import { PithError, type Command, type CommandIO, type TurnEvent } from 'pith';
import { programsOf, readOnlyCommandOf, shownCommand, shownQuoted } from '@pith/command-line';
import { printableLine, slipsOf } from '@pith/plain-text';
import type { Conversation, Sent } from './conversation.ts';
import { fields, list, openQuestions, query, runCommand, text } from './commands.ts';

/** One `--allow`: the tool, and which of its calls. */
interface AllowRule {
  /** The tool's name, or `extension/tool`. */
  readonly tool: string;
  readonly calls: string;
}

/** What of an open question an allow list looks at. */
interface AskedQuestion {
  readonly id: string;
  /** `extension/tool`. */
  readonly tool: string;
  readonly summary: string;
  /** How the tool names what an `always` would cover: `command:npm test`; undefined: it is never allowed in advance. */
  readonly key: string | undefined;
  /** The command line that it would run. */
  readonly command?: string | undefined;
  /** The file that it would change, from the project's folder. */
  readonly path?: string | undefined;
  /** The tool came with Pith. */
  readonly ships: boolean;
}

/** Reads `--allow` and `--yes`. Throws `usage`. */
export function readAllowList({ options }: { readonly options: Readonly<Record<string, unknown>> }): readonly AllowRule[] {
  const given = [options['allow'] ?? []].flat().map(String);
  if (options['yes'] === true && given.length === 0)
    throw new PithError('usage', '--yes alone allows nothing: say what may run', { cure: 'add, for example: --allow "shell:npm test"' });
  return given.map((rule) => {
    const [, tool = '', calls = ''] = /^([^\s:]+):(.+)$/su.exec(rule.trim()) ?? [];
    if (tool !== '' && calls.trim() !== '') return { tool, calls: COMMANDS.has(tool) ? commandRule(rule, calls.trim()) : calls.trim() };
    throw new PithError('usage', `wrong use of --allow: '${printableLine(rule, 80)}' does not say what the tool may do`, {
      cure: 'write: --allow "shell:npm test" or --allow "edit_file:src/"',
    });
  });
}

/** Tools whose calls are command lines. */
const COMMANDS: ReadonlySet<string> = new Set(['shell', 'project_tools/shell']);
const COMMAND = /^(unsandboxed:)?(.+?)((?: \+network)?(?: \+background)?(?: in "(?:[^"\\]|\\.)*")?)$/su;

/** As the tool names such a command. Throws `usage` for what it asks about each time, whatever was allowed. */
function commandRule(rule: string, calls: string): string {
  const [, kind = '', line = '', place = ''] = COMMAND.exec(calls) ?? [];
  const command = shownCommand(line);
  if (command !== null) return `${kind}${command}${place}`;
  const isUnasked = kind === '' && !place.startsWith(' +') && readOnlyCommandOf(programsOf(line), (name) => name) !== null;
  if (isUnasked) return calls;
  throw new PithError(
    'usage',
    `wrong use of --allow: '${printableLine(rule, 80)}' never counts: Pith asks each time about a command with \`;\`, \`&&\`, \`|\`, a redirection, variable, pattern or substitution`,
    { cure: 'allow a script that does all of it, such as: --allow "shell:npm test"' },
  );
}

/**
 * A line for each rule whose tool the agent does not have: one that comes later, or an agent that it calls, may have it. Throws `usage` for a
 * slip of one that it has.
 */
export async function unknownTools(
  rules: readonly AllowRule[],
  agentId: string,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (rules.length === 0) return [];
  const tools = list(await query(commands, ['tools', 'list', '--agent', agentId], signal)).map(fields);
  const known = tools.flatMap((tool) => {
    const [name = '', extension = ''] = [text(tool['name']), text(tool['extension'])];
    const own = name.startsWith(`${extension}__`) ? name.slice(extension.length + 2) : name;
    return [name, `${extension}/${own}`];
  });
  return rules
    .filter(({ tool }) => !known.includes(tool))
    .map(({ tool }) => {
      const shown = printableLine(tool, 80);
      const [meant] = slipsOf(tool, known); // further off may be one that is not offered here
      if (meant === undefined) return `--allow: ${agentId} has no tool '${shown}' now; the rule counts where one comes`;
      throw new PithError('usage', `wrong use of --allow: there is no tool '${shown}' (did you mean '${meant}'?)`, {
        cure: `see: pith tools list --agent ${agentId}`,
      });
    });
}

/** Whether a rule names this call, in the tool's own words for it. The bare name of a tool is that of one that came with Pith. */
export function isAllowed(rules: readonly AllowRule[], question: AskedQuestion): boolean {
  const { tool, key, command, ships } = question;
  if (key === undefined) return false;
  const { kind, rest } = partsOf(key);
  const place = placeOf(question);
  const names = ships ? [tool, nameOf(tool)] : [tool];
  const [, folder] = WIDER.exec(key) ?? [];
  const exact = folder === undefined || command === undefined ? rest : `${shownCommand(command.trim()) ?? command.trim()}${folder}`;
  return rules.some(
    ({ tool: named, calls }) =>
      names.includes(named) && (calls === rest || calls === exact || (FOLDERS.has(kind) && isBelow(place, calls))),
  );
}

/** A key for more than this very command, and the place in which it runs. */
const WIDER = / …((?: in .*)?)$/su;

/** The `--allow` that would allow this call and no more than its `always`; null: nothing does. */
export function ruleFor(question: AskedQuestion): string | null {
  const { tool, key, ships } = question;
  return key === undefined ? null : `${ships ? nameOf(tool) : tool}:${placeOf(question)}`;
}

/** Kinds of keys that name a place, which a folder above it names too. */
const FOLDERS: ReadonlySet<string> = new Set(['write', 'read']);

/** What the key names; for a change anywhere in the project, the folder of the file. */
function placeOf({ key = '', path: file, ships }: AskedQuestion): string {
  return ships && key === 'write:.' && file ? path.posix.dirname(file) : partsOf(key).rest;
}

/** A key without its first word, which says what kind it is; that nothing confines a command must be given. */
function partsOf(key: string): { readonly kind: string; readonly rest: string } {
  const colon = key.indexOf(':');
  const kind = key.slice(0, Math.max(colon, 0));
  const rest = key.slice(colon + 1).replace(/ …(?= [+i]|$)/u, '');
  return { kind, rest: kind === 'unsandboxed' ? `${kind}:${rest}` : rest };
}

function isBelow(place: string, folder: string): boolean {
  const names = (given: string) => given.split('/').filter((name) => name !== '' && name !== '.');
  const [inner, outer] = [names(place), names(folder)];
  if ([...inner, ...outer].includes('..') || place.startsWith('/') !== folder.startsWith('/')) return false;
  return outer.every((name, index) => inner[index] === name);
}

function nameOf(tool: string): string {
  return tool.slice(tool.indexOf('/') + 1);
}

const NOBODY = 'nobody can be asked here';

/** Answers, for a person who is not there, what they allowed in advance. */
export class AllowList {
  constructor(
    private readonly rules: readonly AllowRule[],
    private readonly commands: () => Promise<readonly Command[]>,
    private readonly io: CommandIO,
    private readonly where: {
      /** What is not allowed stays open, for an answer from elsewhere; else it is refused. */
      readonly waits: boolean;
      /** The project's folder: agents name its files by their whole paths too. */
      readonly project: string | null;
    },
  ) {}

  /** One turn, which goes on after questions that are all allowed. Of what is not allowed the rule is shown that would allow it. */
  async *runTurn(conversation: Conversation, message: Sent | null, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    for (let words = message; ; words = null) {
      const questions: TurnEvent[] = [];
      for await (const event of conversation.runTurn(words, signal)) {
        const isAsking = event.type === 'approval-request' || (event.type === 'turn-end' && event.reason === 'awaiting_approval');
        if (isAsking) questions.push(event);
        else if (words !== null || message === null || event.type !== 'turn-start') yield event; // it has begun before
      }
      if (questions.length === 0) return;
      const open = await this.#openIn(conversation.threadId, signal);
      const allowed = open.filter((question) => isAllowed(this.rules, question));
      for (const question of allowed) await this.#allow(question, conversation, signal);
      if (allowed.length === open.length && open.length > 0 && !signal.aborted) continue;
      const others = open.filter((question) => !allowed.includes(question));
      if (!this.where.waits && open.length > 0) return yield* this.#refused(questions, others, conversation, signal);
      yield* questions;
      for (const question of others) this.#hint(question);
      return;
    }
  }

  /** Nobody is there, nor will be: nothing stays open, and the turn has failed. */
  async *#refused(
    events: readonly TurnEvent[],
    open: readonly AskedQuestion[],
    conversation: Conversation,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent> {
    for (const { id } of open) await this.#answer(['reject', id, `--reason=${NOBODY}`], conversation, signal);
    const rules = open.flatMap((question) => ruleFor(question) ?? []).map((rule) => `--allow ${shownQuoted(printableLine(rule))}`);
    const allow = rules.length < open.length ? '' : `allow it in advance with ${rules.join(' ')}, or `;
    const what = open.map(({ summary }) => printableLine(summary)).join('; ');
    const message = `not run: ${what}: ${NOBODY}; ${allow}name the conversation with --thread NAME, and answer with: pith approvals`;
    for (const event of events) {
      if (event.type === 'turn-end') yield { ...event, reason: 'error', error: { code: 'approval_denied', message } };
      else if (this.io.wantsJson) yield event; // the line says it all
    }
  }

  async #openIn(threadId: string, signal: AbortSignal): Promise<readonly AskedQuestion[]> {
    return (await openQuestions(await this.commands(), threadId, signal)).flatMap((question) => {
      const [id, tool, summary] = ['id', 'tool', 'summary'].map((name) => text(question[name]));
      if (id === undefined || tool === undefined) return [];
      const [command, file = ''] = ['command', 'path'].map((name) => text(fields(question['input'] ?? null)[name]));
      const { project } = this.where;
      const named = project !== null && file.startsWith(`${project}/`) ? file.slice(project.length + 1) : file;
      return [{ id, tool, summary: summary ?? tool, key: text(question['key']), command, path: named, ships: question['ships'] === true }];
    });
  }

  async #allow({ id, summary }: AskedQuestion, conversation: Conversation, signal: AbortSignal): Promise<void> {
    await this.#answer(['approve', id], conversation, signal);
    if (!this.io.quiet) this.io.error(`Allowed by --allow: ${printableLine(summary)}`);
  }

  /** As the person's command: in this conversation, which goes on here. */
  async #answer(words: readonly string[], { threadId, agentId }: Conversation, signal: AbortSignal): Promise<void> {
    const silent = { print: () => undefined, json: () => undefined, interactive: false };
    const io = { ...this.io, ...silent, session: { threadId, agentId, send: () => undefined } };
    await runCommand(await this.commands(), ['approvals', ...words], io, signal);
  }

  #hint(question: AskedQuestion): void {
    const rule = printableLine(ruleFor(question) ?? '');
    const summary = printableLine(question.summary);
    this.io.error(rule === '' ? `No --allow covers this: ${summary}` : `Allow it in a script with: --allow ${shownQuoted(rule)}`);
  }
}
