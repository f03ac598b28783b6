const EVERY_MS = 2000;
const SILENT_MS = 5000;

export interface LivenessOptions {
  /** Starts a timer that does not keep this process alive; returns its cancel function. */
  after(ms: number, run: () => void): () => void;
  ping(): Promise<void>;
  /** Whether a call waits for the process, or the process works by itself. */
  busy(): boolean;
  /** Called when pinging begins and ends. */
  working(isWorking: boolean): void;
  /** Called once, when the process does not answer. */
  silent(): void;
}

/** Pings a process while it works and once after. Uses real time, because a process hangs in real time whatever a test's clock says. */
export class Liveness {
  #cancel: (() => void) | undefined;
  #used = false;
  #closed = false;

  constructor(private readonly options: LivenessOptions) {}

  /** Call when the process gets something to do. */
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
