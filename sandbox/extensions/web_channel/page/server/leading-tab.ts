/** Of the lock and of the channel that the tabs of a browser share. */
const NAME = 'pith.events';

/** Of all tabs of a browser one leads, and sends messages to the others. Where the browser has no locks, as over plain http, each tab leads for itself. */
export class LeadingTab<Message> {
  readonly #channel = 'locks' in navigator ? new BroadcastChannel(NAME) : null;
  #isLeading = this.#channel === null;
  #waiting = new AbortController();

  /** `receive` gets the messages of other tabs. */
  constructor(receive: (message: Message) => void) {
    this.#channel?.addEventListener('message', ({ data }) => receive(data as Message));
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  post(message: Message): void {
    this.#channel?.postMessage(message);
  }

  /** Does `work` whenever this tab leads. `left` aborts once another one does, because this one did not answer. */
  async run(work: (left: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#channel === null) return work(new AbortController().signal);
    for (let takesOver = false; ;) {
      const left = new AbortController();
      this.#waiting = new AbortController();
      const options = takesOver ? { steal: true } : { signal: this.#waiting.signal };
      const lead = (): Promise<void> => {
        this.#isLeading = true;
        return work(left.signal);
      };
      await navigator.locks.request(NAME, options, lead).catch(() => undefined); // another tab leads now, or this one is about to
      this.#isLeading = false;
      left.abort();
      takesOver = this.#waiting.signal.aborted;
    }
  }

  /** Leads although another tab does, which is frozen perhaps. */
  takeOver(): void {
    if (!this.#isLeading) this.#waiting.abort();
  }
}
