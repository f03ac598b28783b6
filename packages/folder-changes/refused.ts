/** The message for a person. */
export interface Words {
  readonly code: string;
  readonly message: string;
  readonly cure?: string;
}

/** The caller's messages for each refusal. */
export interface Refusals {
  /** The place was expected to be empty, and is not. */
  exists(folder: string): Words;
  /** A folder was expected there, and is missing. */
  gone(folder: string): Words;
  /** The content is not what was expected. */
  edited(folder: string): Words;
  /** The content changed while it was being replaced. */
  editedMeanwhile(folder: string): Words;
  /** The file of the entries cannot be read. */
  damaged(why: string): Words;
  /** The journal of a killed process cannot be read. */
  journal: Words;
  /** This process was suspended for so long that another undid its change. */
  takenOver: Words;
  /** Another process does not release the lock. */
  busy: Words;
  /** The code of all other failures. */
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
