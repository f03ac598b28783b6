const EVERY_MS = 2000;
const SILENT_MS = 5000;

export interface LivenessOptions {
  /** A timer of the machine, which does not keep this process alive; returns its cancel. */
  after(ms: number, run: () => void): () => void;
  ping(): Promise<void>;
  /** Whether something waits for the process, or it works by itself. */
  busy(): boolean;
  /** Called when asking begins and ends. */
  working(isWorking: boolean): void;
  /** Called once. */
  silent(): void;
}

/**
 * Asks a process whether it answers at all, while it works and once after. By the machine's own clock: a process that hangs does so in
 * real time, whatever a test's clock says.
 */
export class Liveness {
  #cancel: (() => void) | undefined;
  #used = false;
  #closed = false;

  constructor(private readonly options: LivenessOptions) {}

  /** Something has been asked of it. */
  used(): void {
    this.#used = true;
    if (this.#cancel || this.#closed) return;
    this.options.working(true);
    this.#later();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #later(): void {
    this.#cancel = this.options.after(EVERY_MS, () => this.#ask());
  }

  #ask(): void {
    this.#used = false;
    this.#cancel = this.options.after(SILENT_MS, () => {
      this.close();
      this.options.silent();
    });
    void this.options.ping().then(() => {
      this.#cancel?.();
      if (this.#closed) return;
      if (this.#used || this.options.busy()) return this.#later();
      this.#cancel = undefined;
      this.options.working(false);
    });
  }
}
