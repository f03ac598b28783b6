/** What a person is told. */
export interface Words {
  readonly code: string;
  readonly message: string;
  readonly cure?: string;
}

/** Each refusal in the words of who has folders changed. */
export interface Refusals {
  /** Nothing was expected there, and something is. */
  exists(folder: string): Words;
  /** Something was expected there, and nothing is. */
  gone(folder: string): Words;
  /** Something else is there than was expected. */
  edited(folder: string): Words;
  /** It became something else while it was being replaced. */
  editedMeanwhile(folder: string): Words;
  /** The file of the entries cannot be understood. */
  damaged(why: string): Words;
  /** What a process that was killed wrote down cannot be understood. */
  journal: Words;
  /** This process was held up for so long that another undid what it had begun. */
  takenOver: Words;
  /** Another process does not let go. */
  busy: Words;
  /** The code of everything else. */
  failed: string;
}

/** Why nothing was changed. */
export class ChangeRefused extends Error {
  readonly retryable = false;
  readonly code: string;
  readonly cure: string | undefined;
  readonly where: string | undefined;

  constructor({ code, message, cure }: Words, { where, cause }: { readonly where?: string; readonly cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.cure = cure;
    this.where = where;
  }
}

/** The code that the system gave an error; '' without one. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}
