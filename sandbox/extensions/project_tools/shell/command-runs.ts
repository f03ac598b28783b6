import { existsSync } from 'node:fs';
import path from 'node:path';
import { printableLine, someOf } from '@pith/plain-text';
import { oncePromised, untilAborted, within } from '@pith/promises';
import type { ReadOnlyCommand } from '@pith/command-line';
import { FileRefused, isInside, stateFolder } from '@pith/safe-files';
import { createConfinedPrograms, type ConfinedOutcome, type ConfinedProgram, type ConfinedPrograms } from '@pith/supervised-process';
import { messageOf, PithError, type Diagnostic, type ExtensionContext, type TurnInfo } from 'pith';
import type { Config } from '../config.ts';
import type { Project } from '../files/project.ts';
import { CommandWatch, type Leftovers } from './command-watch.ts';
import { HeldFiles } from './held-files.ts';
import { ProcessRecords } from './process-records.ts';
import { namedFolders, placesOf, type Access } from './shell-places.ts';
import { GitHistory } from './git-history.ts';
import { linkedRepository } from './linked-repository.ts';
import { hiddenFromReadOnly, secretsOf, SETTING, type ProjectSecrets } from './secret-files.ts';

/** A command to run. */
export interface ShellCommand {
  readonly command: string;
  /** Names from the project down. */
  readonly folder: readonly string[];
  readonly access: readonly Access[];
  readonly timeoutMs: number;
  readonly sandboxed: boolean;
  /** It can only read, so it runs where nothing can be written, without home and settings. */
  readonly readOnlyCommand: ReadOnlyCommand | null;
  /** False: the files that decide what agents are told, which keys count or what people's tools run stay as they are. */
  readonly mayChangePith: boolean;
  /** Who is notified of autorun files that it leaves. */
  readonly asker: Pick<TurnInfo, 'threadId' | 'userId'>;
}

/** A command that runs beside the conversation. */
export interface BackgroundCommand {
  readonly id: string;
  readonly command: string;
  readonly startedAt: number;
  /** null while it runs. */
  readonly ended: { readonly exit: number | null; readonly why: string | null; readonly at: number } | null;
  readonly output: string;
}

const MOST_OUTPUT = 30_000;
const MOST_BACKGROUND = 8;
const MOST_FINISHED = 50;
const MOST_PROCESSES = 512;
const DAY_MS = 24 * 60 * 60 * 1000;
const LOOK_MS = 2000;
/** The largest share of the time for looks: a fiftieth. */
const LOOK_SHARE = 50;

/** Runs commands in the project, in a sandbox where the system has one, and ends them all when the extension stops. */
export class CommandRuns {
  readonly history = new GitHistory();
  readonly #programs: ConfinedPrograms;
  readonly #watch: CommandWatch;
  readonly #held: HeldFiles;
  readonly #background = new Map<string, Running>();
  #count = 0;

  constructor(
    private readonly context: Pick<ExtensionContext<Config>, 'id' | 'config' | 'clock' | 'dataDirectory' | 'own' | 'events' | 'logger'>,
    readonly project: Project,
  ) {
    this.#programs = createConfinedPrograms();
    context.own(() => this.#programs.close());
    this.#held = new HeldFiles(project, stateFolder(context.dataDirectory, 'held'));
    this.#watch = new CommandWatch(
      { root: project.root, jail: project.jail, state: project.data() },
      new ProcessRecords(stateFolder(context.dataDirectory, 'watched')),
    );
  }

  get settings(): Config['shell'] {
    return this.context.config.shell;
  }

  /** null: commands run in a sandbox; else why not, with a cure. */
  readonly unconfined = (): ReturnType<ConfinedPrograms['unavailable']> => this.#programs.unavailable();

  /** Shows a call's output to the person while it runs. */
  show(idempotencyKey: string, text: string): void {
    this.context.events.publish('tool.progressed', { extensionId: this.context.id, idempotencyKey, text });
  }

  /** Folders of home for a command that requests them. Throws where none is named, or one with keys. */
  homeFolders(): readonly string[] {
    const folders = namedFolders(this.project.home, this.settings.home);
    if (folders.length > 0) return folders;
    throw new FileRefused(
      'protected',
      'no folder of home is named for commands: run it without home, or ask the person to name one in the settings, extensions.project_tools.shell.home',
    );
  }

  /** Autorun files left by commands whose Pith was killed. */
  async findings(signal: AbortSignal): Promise<readonly Diagnostic[]> {
    const left = await this.#watch.ofKilled(signal);
    return left.map((each) => ({ severity: 'warning', code: 'autorun_files', message: leftBy(each), cure: CURE }));
  }

  /** The same at the start of a conversation, without waiting for a scan of a large project. null: nothing to say. */
  async opening(signal: AbortSignal): Promise<string | null> {
    const commands = this.#watch.commandsOfKilled();
    if (commands.length === 0) return null;
    const left = await within(this.context.clock, OPENING_MS, this.#watch.ofKilled(signal));
    if (left === undefined)
      return `Pith was ended while ${named(commands)} ran: npx pith doctor says whether files came that start by themselves`;
    this.#watch.acknowledge(left);
    const lines = left.map((each) => `Warning: ${leftBy(each)}; ${CURE}`);
    return lines.length === 0 ? null : lines.join('\n');
  }

  /** Resolves when the command and all that it started are gone. */
  async run(
    wanted: ShellCommand,
    shown: (text: string) => void,
    signal: AbortSignal,
  ): Promise<ConfinedOutcome & { readonly output: string; readonly left: readonly string[]; readonly leftBefore: readonly string[] }> {
    if (wanted.mayChangePith || wanted.readOnlyCommand !== null) return this.#run(wanted, null, shown, signal);
    try {
      return await this.#run(wanted, await this.#held.begin(signal), shown, signal);
    } finally {
      this.#held.end();
    }
  }

  async #run(
    wanted: ShellCommand,
    held: Awaited<ReturnType<HeldFiles['begin']>> | null,
    shown: (text: string) => void,
    signal: AbortSignal,
  ): ReturnType<CommandRuns['run']> {
    const { project, context } = this;
    const { command, access, sandboxed, readOnlyCommand } = wanted;
    const home = project.home ?? '/nonexistent';
    if (sandboxed && isInside(home, project.root))
      throw new FileRefused(
        'protected',
        'the project contains your home folder, and a command would see all of it; start Pith in a folder below it',
      );
    const output = new KeptOutput(MOST_OUTPUT);
    const say = (text: string): void => {
      if (text === '') return;
      output.add(text);
      shown(text);
    };
    const mostChecked = context.config.shell.files_checked;
    // An outer repository has settings, with tokens in addresses: among commands that run without a question, only git may read it, and git
    // gets no path out of the project.
    const linked = sandboxed && readOnlyCommand?.usesGit !== false ? await linkedRepository(project, mostChecked, signal) : null;
    const repository = linked === null ? [] : [linked.folder];
    if (sandboxed && readOnlyCommand !== null) {
      const secrets = await secretsOf(project, mostChecked, signal);
      say(uncheckedText(project, secrets));
      const covered = [...hiddenFromReadOnly(project, secrets, readOnlyCommand.usesGit), ...(linked?.covered ?? [])];
      const env = { ...ENVIRONMENT, ...OF_READERS };
      const outcome = await this.#confined(wanted, { readOnly: [project.root, ...repository], covered, env, onOutput: say }, signal);
      if (readOnlyCommand.usesGit && REPOSITORY_HIDDEN.test(output.text)) say(`\n[${HIDDEN_TEXT}]\n`);
      return { ...outcome, output: output.text, left: [], leftBefore: [] };
    }
    const left: string[] = [];
    const { secrets, unreported } = await this.#watch.begin(command, sandboxed ? mostChecked : null, signal);
    const leftBefore = unreported.map((each) => `${leftBy(each)}; ${CURE}`);
    for (const text of leftBefore) {
      say(`[Tell the person: ${text}]\n`);
      await this.#warn(wanted.asker, `Warning: ${text}`);
    }
    if (secrets !== null) say(uncheckedText(project, secrets));
    const ended = new AbortController();
    const report = async (lines: readonly string[]): Promise<void> => {
      if (lines.length === 0) return;
      left.push(...lines);
      say(`\n[${LEFT} Tell the person:\n${listOf(lines)}]\n`);
      await this.#warn(
        wanted.asker,
        `Warning: \`${printableLine(command, 60)}\` left files that start by themselves later:\n${listOf(lines)}`,
      );
    };
    const looking = this.#lookOften(report, ended.signal);
    const finish = oncePromised(async () => {
      ended.abort();
      await looking;
      await report(await this.#watch.end(command));
    });
    try {
      const outcome = await this.#confined(
        wanted,
        {
          readOnly: [
            ...repository,
            ...(held === null ? [] : [{ from: held.ignored, at: IGNORED }]),
            ...(sandboxed && access.includes('home') ? this.homeFolders() : []),
          ],
          writable: [project.root],
          covered:
            secrets === null ? [] : [...(held?.covered ?? []), ...(linked?.covered ?? []), ...(await placesOf(project, secrets, signal))], // what is empty covers what is held
          env: {
            ...ENVIRONMENT,
            ...(sandboxed && !access.includes('network') && NO_RETRIES),
            ...(held !== null && OF_HELD),
          },
          user: { home, fileMb: context.config.shell.file_mb, caches: path.join(project.data(), '.cache', 'commands') },
          onOutput: say,
        },
        signal,
      );
      if (sandboxed && SETTINGS_HELD.test(output.text)) say(`\n[${SETTINGS_TEXT}]\n`);
      if (linked !== null && REPOSITORY_HELD.test(output.text)) say(`\n[${HELD_TEXT}]\n`);
      if (sandboxed && REPOSITORY_HIDDEN.test(output.text)) say(`\n[${HIDDEN_TEXT}]\n`);
      if (sandboxed && !access.includes('network') && NAMES_UNRESOLVED.test(output.text)) say(`\n[${NETWORK_TEXT}]\n`);
      await finish();
      return { ...outcome, output: output.text, left, leftBefore };
    } finally {
      await finish();
    }
  }

  #confined(
    { command, folder, access, timeoutMs, sandboxed, readOnlyCommand }: ShellCommand,
    seen: Pick<ConfinedProgram, 'readOnly' | 'writable' | 'covered' | 'env' | 'user' | 'onOutput'>,
    signal: AbortSignal,
  ): Promise<ConfinedOutcome> {
    return this.#programs.run(
      {
        ...seen,
        argv: [existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh', '-c', readOnlyCommand?.line ?? command],
        cwd: path.join(this.project.root, ...folder),
        timeoutMs,
        maxOutputBytes: MOST_OUTPUT,
        memoryMb: this.settings.memory_mb,
        maxProcesses: MOST_PROCESSES,
        sandbox: sandboxed ? 'required' : 'none',
        network: access.includes('network'),
      },
      signal,
    );
  }

  /** Looks while it runs, so that a person learns within seconds what a day-long command leaves. */
  async #lookOften(report: (lines: readonly string[]) => Promise<void>, ended: AbortSignal): Promise<void> {
    const { clock, logger } = this.context;
    for (let pause = LOOK_MS; !ended.aborted;) {
      const startedAt = await clock.sleep(pause, ended).then(
        () => clock.now(),
        () => null,
      ); // aborted: it has ended
      if (startedAt === null) return;
      try {
        await report(await this.#watch.look(ended));
      } catch (error) {
        if (!ended.aborted) logger.warn(`the project could not be looked through while a command runs: ${messageOf(error)}`);
      }
      pause = Math.max(LOOK_MS, LOOK_SHARE * (clock.now() - startedAt));
    }
  }

  #warn({ threadId, userId }: ShellCommand['asker'], text: string): Promise<void> {
    return this.context.events
      .publish('notify', { v: 1, text, kind: 'warning', target: null, threadId, userId }, { key: threadId })
      .then(() => undefined)
      .catch((error: unknown) => this.context.logger.warn(`${text}; the warning could not be sent: ${messageOf(error)}`));
  }

  /** Starts it beside the conversation. Throws `limit_reached` when the most commands run already. */
  start(wanted: ShellCommand): BackgroundCommand {
    const running = [...this.#background.values()].filter(({ ended }) => ended === null);
    if (running.length >= MOST_BACKGROUND)
      throw new PithError('limit_reached', `${running.length} commands run in the background; stop one first`);
    this.#count += 1;
    const id = `bg-${this.#count}`;
    const stop = new AbortController();
    const entry = new Running({ id, command: wanted.command, startedAt: this.context.clock.now(), of: wanted.asker.userId }, () =>
      stop.abort(),
    );
    this.#background.set(id, entry);
    this.#forgetOld();
    entry.done = this.run({ ...wanted, timeoutMs: DAY_MS }, (text) => entry.kept.add(text), stop.signal).then(
      ({ exit, stopped }) => entry.end(exit, stopped, this.context.clock.now()),
      (error: unknown) =>
        entry.end(
          null,
          stop.signal.aborted ? 'it was stopped' : error instanceof Error ? error.message : String(error),
          this.context.clock.now(),
        ),
    );
    return entry.shown;
  }

  /** Of one user; absent: of all. */
  list(userId?: string): readonly BackgroundCommand[] {
    return [...this.#background.values()].filter(({ begun }) => (userId ?? begun.of) === begun.of).map(({ shown }) => shown);
  }

  /** null: the user has none of this id. Waits for its end up to `waitMs`. */
  async look(id: string, userId: string, waitMs: number, signal: AbortSignal): Promise<BackgroundCommand | null> {
    const found = this.#background.get(id);
    if (found?.begun.of !== userId) return null;
    if (found.ended === null && waitMs > 0)
      await within(this.context.clock, waitMs, untilAborted(found.done, signal)).catch(() => undefined); // the call has ended
    return found.shown;
  }

  /** Ends it and all that it started. null: it is unknown, or not this user's; without one it is anybody's. */
  async stop(id: string, userId?: string): Promise<BackgroundCommand | null> {
    const found = this.#background.get(id);
    if (found === undefined || (userId ?? found.begun.of) !== found.begun.of) return null;
    found.stop();
    await found.done;
    return found.shown;
  }

  #forgetOld(): void {
    const ended = [...this.#background.values()].filter(({ ended: end }) => end !== null);
    for (const { begun } of ended.slice(0, Math.max(0, ended.length - MOST_FINISHED))) this.#background.delete(begun.id);
  }
}

const OPENING_MS = 700;
const CURE = 'look at these before you use git, a shell, an editor or a package manager there';

function leftBy({ commands, lines }: Leftovers): string {
  return `while ${named(commands)} ran and Pith was ended, files came that start by themselves: ${lines.join('; ')}`;
}

function listOf(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function named(commands: readonly string[]): string {
  return commands.map((each) => `\`${printableLine(each, 60)}\``).join(', ');
}

const LEFT = 'While this command ran, files came that start by themselves later.';
const SETTINGS_HELD = /could not (?:write|lock) config file/u;
const SETTINGS_TEXT = 'commands cannot change settings of git; ask the person to run the command';
const REPOSITORY_HELD =
  /unable to create '[^\n]*\.lock': read-only file system|insufficient permission for adding an object|cannot (?:lock|update) (?:the )?ref|unable to (?:create|write|open)[^\n]*: read-only file system/iu;
const HELD_TEXT =
  'the repository of this linked working tree is outside the project: commands read it and cannot change it; ask the person to run the command';
const REPOSITORY_HIDDEN = /fatal: not a git repository: \//u;
const HIDDEN_TEXT =
  'the repository of this folder is outside the project, where commands see nothing; ask the person to run the command, or to start Pith in the folder above both';
/** The messages of resolvers, package managers, git, curl and the runtimes. */
const NAMES_UNRESOLVED =
  /\b(?:EAI_AGAIN|ENOTFOUND)\b|could(?:n't| not) resolve (?:host|proxy)|temporary failure (?:in name resolution|resolving)|name or service not known|unable to resolve host|dns error|no address associated with hostname|nodename nor servname|network is unreachable|\bENETUNREACH\b/iu;
const NETWORK_TEXT = 'the sandbox has no network; call again with access: ["network"] if the command needs it';
/** npm waits more than a minute before it reports that it reaches nothing. */
const NO_RETRIES = { npm_config_fetch_retries: '0' };

const ENVIRONMENT = { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };
/** Where a command finds what git is to ignore besides: placeholders are not added. */
const IGNORED = '/tmp/.pith-ignored';
const OF_HELD = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.excludesFile', GIT_CONFIG_VALUE_0: IGNORED };
/** Settings could make git print submodules, which nobody checked for secrets. */
const OF_READERS = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'diff.submodule',
  GIT_CONFIG_VALUE_0: 'short',
  GIT_CONFIG_KEY_1: 'submodule.recurse',
  GIT_CONFIG_VALUE_1: 'false',
};

const MOST_NAMED = 5;

function uncheckedText({ root }: Project, { unchecked, unlisted }: ProjectSecrets): string {
  const noteOf = (places: readonly string[], why: string, cure: string): string => {
    if (places.length === 0) return '';
    const names = places.map((at) => printableLine(path.relative(root, at) || '.'));
    return `[Pith hides from this command, because ${why}: ${someOf(names, MOST_NAMED)}; to show them, ${cure}]\n`;
  };
  return (
    noteOf(unchecked, 'there are too many files to look for those with secrets', `raise ${SETTING}`) +
    noteOf(unlisted, 'nobody may list what is in there', 'make them readable (chmod u+r)')
  );
}

class Running {
  readonly kept = new KeptOutput(MOST_OUTPUT);
  ended: BackgroundCommand['ended'] = null;
  done: Promise<void> = Promise.resolve();

  constructor(
    /** `of`: the user whose turn began it. */
    readonly begun: Pick<BackgroundCommand, 'id' | 'command' | 'startedAt'> & { readonly of: string },
    readonly stop: () => void,
  ) {}

  end(exit: number | null, why: string | null, at: number): void {
    this.ended = { exit, why, at };
  }

  get shown(): BackgroundCommand {
    const { id, command, startedAt } = this.begun;
    return { id, command, startedAt, ended: this.ended, output: this.kept.text };
  }
}

/** The start and the end of a long output. */
class KeptOutput {
  #head = '';
  #tail = '';
  #length = 0;

  constructor(private readonly most: number) {}

  add(text: string): void {
    this.#length += text.length;
    const room = this.most / 2 - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    this.#tail = (this.#tail + text.slice(Math.max(0, room))).slice(-this.most / 2);
  }

  get text(): string {
    const left = this.#length - this.#head.length - this.#tail.length;
    return left === 0
      ? this.#head + this.#tail
      : `${this.#head.replace(CUT_END, '')}\n… ${left} characters left out …\n${this.#tail.replace(CUT_START, '')}`;
  }
}

/** A lone surrogate, where a cut divided a character. */
const CUT_END = /[\ud800-\udbff]$/u;
const CUT_START = /^[\udc00-\udfff]/u;
