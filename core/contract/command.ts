import type { z } from 'zod';
import type { JsonValue } from './errors.ts';
import type { AgentsApi, ExtensionContext } from './extension.ts';
import { defineInProcess, method } from './protocol.ts';

export interface CommandInput {
  readonly arguments: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly options: Readonly<Record<string, string | boolean | number | readonly string[] | undefined>>;
}

/** A command's output and input: a terminal, a pipe or a conversation. */
export interface CommandIO {
  /** Prints text for people; ignored under `--json`. */
  print(text: string): void;
  error(text: string): void;
  /** Prints the command's one JSON value, or one line of a stream; only under `--json`. */
  json(value: JsonValue): void;
  /** null where nobody can answer. */
  ask(
    question: string,
    options?: {
      readonly choices?: readonly string[];
      readonly secret?: boolean;
      /** What of it may do harm, a line each. */
      readonly serious?: readonly string[];
    },
  ): Promise<string | null>;
  /** Piped lines, or lines that a person types. */
  readonly input: AsyncIterable<string>;
  readonly interactive: boolean;
  readonly wantsJson: boolean;
  readonly quiet: boolean;
  readonly colour: boolean;
  readonly columns: number;
  /** The person's working directory, absolute: the base of relative paths in arguments. The process's own may differ. */
  readonly workingDirectory: string;
  /** The person: `PITH_USER`, else `local`. On one machine a label, not a boundary: whoever starts Pith may set another. */
  readonly userId: string;
  /** The shell it was typed in; absent in a conversation. */
  readonly shell?: {
    /** The bytes whose lines `input` are; null on a terminal. `mayBeIdle`: a socket, which may be open without anybody who writes to it. */
    readonly piped: { readonly bytes: AsyncIterable<Uint8Array>; readonly mayBeIdle: boolean } | null;
    /** True: the terminal cannot move its cursor, so nothing may be redrawn. */
    readonly plain: boolean;
  };
  /** The conversation a slash command was typed in. */
  readonly session?: {
    readonly threadId: string;
    readonly agentId: string;
    /** The model that the person chose for it; absent: the agent's. */
    readonly model?: string;
    /** Sends this as the person's next message once the command has ended; the last call counts. */
    send(text: string): void;
  };
}

/** One definition for the command line (`pith skills list`) and for chat (`/skills list`). */
export interface Command {
  /** The words that name the command, from the left: `skills list`. */
  readonly path: string;
  readonly description: string;
  /** `variadic`: it takes all remaining words; only the last argument may. */
  readonly arguments?: readonly {
    readonly name: string;
    readonly description: string;
    readonly required?: boolean;
    readonly variadic?: boolean;
  }[];
  readonly options?: readonly {
    /** Long name without dashes. */
    readonly name: string;
    readonly short?: string;
    readonly type: 'string' | 'boolean' | 'number';
    readonly description: string;
    readonly default?: string | boolean | number;
    readonly multiple?: boolean;
  }[];
  /** True: the command also gets options that are not in `options`, as texts by name. For names that are known only at run time. */
  readonly allowUnknownOptions?: boolean;
  /** False keeps it out of chat; default true. */
  readonly slash?: boolean;
  /** True: in chat, the text after its path is its first argument as it is; no word of it is an option. */
  readonly rawArgument?: boolean;
  /** True: every other command with the same first word overrides it. For commands named after files. */
  readonly overridable?: boolean;
  /** Set by the kernel where its name belongs to another command: `<extension>:<path>`. */
  readonly prefixed?: string;
  /** True: help, completion and the pages of commands omit it; it works when it is typed. */
  readonly hidden?: boolean;
  /** True: it writes into the sandbox or runs its code, so it is refused in an untrusted sandbox. */
  readonly needsTrust?: boolean;
  /** The schema of the one value that it prints with `--json`, for those who describe it. */
  result?(): Promise<z.ZodType>;
  /** Returns the exit code; nothing means 0. An error prints `pith: …` and exits 1. */
  run(input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number | void>;
  /** With `needs: started`: called instead of `run`. `start`, for who stays, starts the services and resolves a notice for the person, or null. */
  runBeforeStart?(input: CommandInput, io: CommandIO, start: () => Promise<string | null>, signal: AbortSignal): Promise<number | void>;
}

/** The context of a command entry with `needs: index`: the extension is not activated, and `use` reaches the kernel only (`Places`). */
export type CommandContext = Pick<ExtensionContext, 'id' | 'directory' | 'dataDirectory' | 'config' | 'clock' | 'logger' | 'use'> & {
  /** Agents as declared: those with broken files or dependencies are left out, and nothing is loaded to check further. */
  readonly agents: Pick<AgentsApi, 'list' | 'find'>;
};

export interface CommandProvider {
  getCommands(): readonly Command[] | Promise<readonly Command[]>;
}

export const CommandProvider = defineInProcess<CommandProvider>('command', { getCommands: method({ byReference: true }) });
