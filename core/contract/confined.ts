/** A place that a confined program sees: a path, or a path that stands elsewhere for it (`at`; only in a sandbox). Absolute. */
export type ConfinedPath = string | { readonly from: string; readonly at: string };

/** One program to run apart: what it sees beside the programs and libraries of the system, and its limits. */
export interface ConfinedProgram {
  /** The program by its absolute path, and its arguments. */
  readonly argv: readonly string[];
  /** Absolute; one of the places below, or in one. */
  readonly cwd: string;
  readonly readOnly: readonly ConfinedPath[];
  readonly writable?: readonly ConfinedPath[];
  /** Beside PATH, HOME, TMPDIR and LANG. HOME and TMPDIR (`/tmp` in a sandbox) are private, limited in size and gone afterwards. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of Pith's own environment, and of secrets that were given for the extension, whose values it is given; they are kept out of texts from then on. Those not set are left out. */
  readonly pass?: readonly string[];
  readonly timeoutMs: number;
  /** Of both outputs together; more of them ends the program. */
  readonly maxOutputBytes: number;
  /** Of it and all that it starts, as far as the system lets it be held; default 512. */
  readonly memoryMb?: number;
  /** How many processes it may be at a time; default 128. */
  readonly maxProcesses?: number;
  /** `none`: where a person chose to run it as themselves: the limits of time and output hold, nothing is hidden. */
  readonly sandbox: 'required' | 'none';
}

export interface ConfinedOutcome {
  /** null: a limit ended it. A signal counts as 128 and its number. */
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Its output was longer than it may be: the rest was not read. */
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** The limit that ended it, as the end of a sentence; null: it ended by itself. */
  readonly stopped: string | null;
}

/** A program by its name, as the system knows it. */
export interface ProgramPlace {
  /** Absolute; null: it is not installed. */
  readonly path: string | null;
  /** What a person types to install a package of that name here. */
  readonly install: string;
}

/** Runs programs without network, environment and other people's files, of which nothing is left afterwards. In process only. */
export interface ConfinedPrograms {
  /** null: programs can be run; else why not, and what to do about it. Found out once. */
  unavailable(): Promise<{ readonly why: string; readonly cure: string } | null>;
  /** Where the system has a program: in its own folders, which every sandbox shows, then in `folders`. Not on the search path. */
  locate(name: string, folders?: readonly string[]): Promise<ProgramPlace>;
  /** Resolves when it and all that it started are gone. Rejects `sandbox_unavailable`, `aborted`, and `process_ended` where it could not be started. */
  run(program: ConfinedProgram, signal?: AbortSignal): Promise<ConfinedOutcome>;
}
