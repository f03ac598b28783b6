import { codeOf, PithError, type Command, type CommandInput, type CommandIO } from 'pith';
import { matchCommand, parseCommandInput, pathThrough } from '@pith/command-line';
import { didYouMean, printableJson, slipsOf, splitWords } from '@pith/plain-text';
import { type ChatContext, type Conversation, loadSkill, type LoadedSkill, readerOf, skillNames } from './conversation.ts';
import { errorLine, findCommands, typedHints } from './commands.ts';
import { firstWord, localCommands, type ScreenActions } from './local-commands.ts';

/** What is typed with a slash: the commands of the command line, and those that belong to the conversation itself. */
export class SlashCommands {
  /** `/quit` was given. */
  left = false;
  #resumes = false;
  #sent = '';
  #skills: readonly LoadedSkill[] = [];

  constructor(
    private readonly context: ChatContext,
    private readonly conversation: Conversation,
    /** Writes a line as it is; default: as other lines are printed. */
    private readonly raw?: (line: string) => void,
    private readonly screen: ScreenActions | null = null,
  ) {}

  /** What commands know of the conversation, and by what they send the person's next message. */
  session(): NonNullable<CommandIO['session']> {
    const { threadId, agentId, choice } = this.conversation;
    return { threadId, agentId, model: choice.model, send: (text) => void (this.#sent = text) };
  }

  /** What the last command sent, with the skills that it loaded; `resume`: the turn that was cut off goes on; null: nothing, or an empty text. */
  takeMessage(): { readonly input: string; readonly skills: readonly LoadedSkill[] } | 'resume' | null {
    const [input, skills, resumes] = [this.#sent, this.#skills, this.#resumes];
    [this.#sent, this.#skills, this.#resumes] = ['', [], false];
    if (resumes) return 'resume';
    return input.trim() === '' ? null : { input, skills };
  }

  /** True for `/word …` and `/extension:word …`; a path such as `/etc/hosts` is a message. */
  covers(line: string): boolean {
    return /^\/(?:[a-z?][a-z0-9_-]*(?::[a-z0-9_-]+)?)?(?:\s|$)/iu.test(line);
  }

  /** Returns the exit code; errors go to the error stream. */
  async run(line: string, given: CommandIO, signal: AbortSignal): Promise<number> {
    const { shell: _, ...io } = { ...given, session: this.session() };
    let paths: readonly string[] = [];
    let isFound = false;
    const error = (text: string) => io.error(typedHints(text, paths));
    try {
      const commands = await this.all();
      paths = commands.map(({ path }) => path);
      const typed = line.trim().slice(1);
      const { words, json } = takeJson(splitWords(typed));
      const { command, rest } = find(commands, words.length === 0 || words[0] === '?' ? ['help'] : words);
      isFound = true;
      const asIs = command.rawArgument === true;
      const input = asIs ? lineInput(command, typed) : parseCommandInput(command, rest);
      return (await command.run(input, json && !asIs ? asJson({ ...io, error }, this.raw) : { ...io, error }, signal)) ?? 0;
    } catch (failure) {
      const isUnknown = !isFound && codeOf(failure, '') === 'command_unknown';
      if (isUnknown && (await this.#loadSkill(line, io, signal))) return 0;
      error(errorLine((isUnknown && (await this.#skillMeant(line))) || failure));
      return 1;
    }
  }

  /** Commands come first; a skill of the name is loaded for the message that follows it. False: the agent may read no such skill. */
  async #loadSkill(line: string, io: CommandIO, signal: AbortSignal): Promise<boolean> {
    const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/u.exec(line.trim()) ?? [];
    try {
      const skill = await loadSkill(this.context, this.conversation.agentId, name, signal);
      if (skill === null) return false;
      this.#skills = [skill];
    } catch {
      return false; // then the command is simply unknown
    }
    if (!io.quiet && io.interactive) io.print(`✓ skill ${name} loaded`);
    this.#sent = rest === '' ? `Use the skill \`${name}\`.` : `Use the skill \`${name}\`: ${rest}`;
    return true;
  }

  /** Skills of plugins with that name, else an agent that may read it, else the skill of which it may be a typing error; null: none. */
  async #skillMeant(line: string): Promise<PithError | null> {
    const [, word = ''] = /^\/(\S+)/u.exec(line.trim()) ?? [];
    const { agentId } = this.conversation;
    const names = await skillNames(this.context, agentId);
    const ofPlugins = names.filter((name) => name.endsWith(`:${word}`));
    const reader = ofPlugins.length > 0 ? null : await readerOf(this.context, word);
    if (reader !== null)
      return new PithError('command_unknown', `the agent '${agentId}' may not read the skill '${word}'`, {
        cure: `talk to one that may: /agent ${reader}`,
      });
    const meant = ofPlugins.length > 0 ? ofPlugins.slice(0, 3) : slipsOf(word, names, 2).slice(0, 1);
    const guess = meant.map((name) => `'/${name}'`).join(' or ');
    return guess === '' ? null : new PithError('command_unknown', `unknown command /${word} (did you mean ${guess}?)`);
  }

  /** Those of the conversation come before others of the same name. */
  async all(): Promise<readonly Command[]> {
    const found = await findCommands(this.context);
    const local = localCommands({
      conversation: this.conversation,
      agents: this.context.agents,
      screen: this.screen,
      found,
      all: () => this.all(),
      leave: () => (this.left = true),
      resume: () => (this.#resumes = true),
    });
    const ours = new Set([...local, ...found.filter(({ prefixed }) => prefixed === undefined)].map(firstWord));
    const names = new Set(local.map(({ path }) => path));
    const all = [...local, ...found.map((command) => underName(command, ours)).filter(({ path }) => !names.has(path))];
    const taken = new Set(all.filter((command) => command.overridable !== true).map(firstWord));
    return all
      .filter((command) => command.overridable !== true || !taken.has(firstWord(command)))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }
}

/** A command of an extension that does not ship takes no name from the conversation, from what ships, or from what a person named, such as a recipe. */
function underName(command: Command, ours: ReadonlySet<string>): Command {
  const { prefixed } = command;
  return prefixed === undefined || !ours.has(firstWord(command)) ? command : { ...command, path: prefixed };
}

/** What was typed after the command's path, as it is. */
function lineInput({ path, arguments: [first] = [] }: Command, typed: string): CommandInput {
  const rest = typed.replace(new RegExp(String.raw`^(?:\S+\s*){${path.split(' ').length}}`, 'u'), '');
  return { arguments: first === undefined || rest === '' ? {} : { [first.name]: rest }, options: {} };
}

/** `--json` is an option of every command, as on the command line. */
function takeJson(typed: readonly string[]): { readonly words: readonly string[]; readonly json: boolean } {
  const end = typed.indexOf('--');
  const words = typed.filter((word, index) => word !== '--json' || (end >= 0 && index > end));
  return { words, json: words.length < typed.length };
}

function asJson(io: CommandIO, raw = io.print): CommandIO {
  if (io.wantsJson) return io;
  return {
    ...io,
    print: () => undefined,
    json: (value) => raw(printableJson(JSON.stringify(value))),
    interactive: false,
    wantsJson: true,
    colour: false,
  };
}

/** A group alone (`/skills`, `/tasks schedules`) means its list. Throws `command_unknown` with the nearest names. */
function find(commands: readonly Command[], words: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } {
  const exact = matchCommand(commands, words);
  if (exact) return exact;
  const below = (depth: number) => {
    const group = words.slice(0, depth).map((word) => `${word} `);
    return commands.filter(({ path }) => path.startsWith(group.join('')));
  };
  let depth = 0;
  while (depth < words.length && below(depth + 1).length > 0) depth += 1;
  const rest = words.slice(depth);
  const listing = rest[0]?.startsWith('-') === false ? null : matchCommand(commands, [...words.slice(0, depth), 'list', ...rest]);
  if (listing) return listing;
  const group = words.slice(0, Math.min(depth, words.length - 1));
  const word = words[group.length] ?? '';
  const siblings = new Set(below(group.length).map(({ path }) => path.split(' ')[group.length] ?? path));
  const through = group.length === 0 ? pathThrough(words, commands) : null;
  if (through !== null) throw new PithError('command_unknown', `unknown command /${word}`, { cure: `see /${through}` });
  const guess = didYouMean(word, siblings).replaceAll(/'(\S+)'/gu, `'/${[...group, '$1'].join(' ')}'`);
  throw new PithError('command_unknown', `unknown command /${[...group, word].join(' ')}${guess}`, {
    cure: guess === '' ? `see ${['/help', ...group].join(' ')}` : undefined,
  });
}
