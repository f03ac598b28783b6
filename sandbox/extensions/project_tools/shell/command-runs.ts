import { existsSync } from 'node:fs';
import path from 'node:path';
import { createConfinedPrograms, type ConfinedOutcome, type ConfinedPrograms } from '@pith/held-process';
import { messageOf, PithError, type ExtensionContext } from 'pith';
import type { Config } from '../config.ts';
import type { Project } from '../files/project.ts';
import { KeptOutput } from './kept-output.ts';
import { placesOf, type Access } from './shell-places.ts';

/** A command as it is to run. */
export interface ShellCommand {
  readonly command: string;
  /** Names from the project down. */
  readonly folder: readonly string[];
  readonly access: readonly Access[];
  readonly timeoutMs: number;
  readonly sandboxed: boolean;
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

/** Runs commands in the project, in a sandbox where the system has one, and ends them all when the extension stops. */
export class CommandRuns {
  readonly #programs: ConfinedPrograms;
  readonly #background = new Map<string, Running>();
  #count = 0;

  constructor(
    private readonly context: Pick<ExtensionContext<Config>, 'id' | 'config' | 'clock' | 'dataDirectory' | 'own' | 'events'>,
    readonly project: Project,
  ) {
    this.#programs = createConfinedPrograms({ dataDirectory: context.dataDirectory });
    context.own(() => this.#programs.close());
  }

  get settings(): Config['shell'] {
    return this.context.config.shell;
  }

  /** null: commands run in a sandbox; else why not, and what to do about it. */
  unconfined(): ReturnType<ConfinedPrograms['unavailable']> {
    return this.#programs.unavailable();
  }

  /** Shows output of a call to the person while it runs. */
  show(idempotencyKey: string, text: string): void {
    this.context.events.publish('tool.progressed', { extensionId: this.context.id, idempotencyKey, text });
  }

  /** Resolves when it and all that it started are gone. */
  async run(
    wanted: ShellCommand,
    shown: (text: string) => void,
    signal: AbortSignal,
  ): Promise<ConfinedOutcome & { readonly output: string }> {
    const { project, context } = this;
    const { command, folder, access, timeoutMs, sandboxed } = wanted;
    const { memory_mb: memoryMb, file_mb: fileMb } = context.config.shell;
    const home = project.home ?? '/nonexistent';
    const cwd = path.join(project.root, ...folder);
    const output = new KeptOutput(MOST_OUTPUT);
    const places = access.includes('home') && project.home !== null ? [project.home, project.root] : [project.root];
    const guarded = sandboxed ? await placesOf(project, access, signal) : null;
    const run = this.#programs.run(
      {
        argv: [existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh', '-c', command],
        cwd,
        readOnly: [],
        writable: places,
        covered: guarded?.covered ?? [],
        env: { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' },
        timeoutMs,
        maxOutputBytes: MOST_OUTPUT,
        memoryMb,
        maxProcesses: MOST_PROCESSES,
        sandbox: sandboxed ? 'required' : 'none',
        network: access.includes('network'),
        user: { home, fileMb },
        onOutput(text) {
          output.add(text);
          shown(text);
        },
      },
      signal,
    );
    const outcome = await run.finally(() => {
      try {
        for (const name of guarded?.takeAway() ?? [])
          output.add(`\n[Pith removed ${name}, which the command made: it would decide which programs git starts]`);
      } catch (error) {
        output.add(`\n[Pith could not remove a file of git that the command made: ${messageOf(error)}; look into .git before you use it]`);
      }
    });
    return { ...outcome, output: output.text };
  }

  /** Starts it beside the conversation. Throws `limit_reached` when as many run as may. */
  start(wanted: ShellCommand): BackgroundCommand {
    const running = [...this.#background.values()].filter(({ ended }) => ended === null);
    if (running.length >= MOST_BACKGROUND)
      throw new PithError('limit_reached', `${running.length} commands run in the background; stop one first`);
    this.#count += 1;
    const id = `bg-${this.#count}`;
    const stop = new AbortController();
    const entry = new Running(id, wanted.command, this.context.clock.now(), () => stop.abort());
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

  list(): readonly BackgroundCommand[] {
    return [...this.#background.values()].map(({ shown }) => shown);
  }

  /** null: there is none of that id. With `waitMs`, waits so long for its end. */
  async look(id: string, waitMs: number, signal: AbortSignal): Promise<BackgroundCommand | null> {
    const found = this.#background.get(id);
    if (found === undefined) return null;
    if (found.ended === null && waitMs > 0) {
      const enough = new AbortController();
      const late = this.context.clock.sleep(waitMs, AbortSignal.any([signal, enough.signal]));
      await Promise.race([found.done, late]).finally(() => enough.abort());
      await late.catch(() => undefined); // it was not needed, or the call has ended
    }
    return found.shown;
  }

  /** Ends it and all that it started. null: there is none of that id. */
  async stop(id: string): Promise<BackgroundCommand | null> {
    const found = this.#background.get(id);
    if (found === undefined) return null;
    found.stop();
    await found.done;
    return found.shown;
  }

  #forgetOld(): void {
    const ended = [...this.#background.values()].filter(({ ended: end }) => end !== null);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - MOST_FINISHED))) this.#background.delete(id);
  }
}

class Running {
  readonly kept = new KeptOutput(MOST_OUTPUT);
  ended: BackgroundCommand['ended'] = null;
  done: Promise<void> = Promise.resolve();

  constructor(
    readonly id: string,
    private readonly command: string,
    private readonly startedAt: number,
    readonly stop: () => void,
  ) {}

  end(exit: number | null, why: string | null, at: number): void {
    this.ended = { exit, why, at };
  }

  get shown(): BackgroundCommand {
    const { id, command, startedAt, ended } = this;
    return { id, command, startedAt, ended, output: this.kept.text };
  }
}
