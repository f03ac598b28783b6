/** Runs checks one after the other, and prints a line for each. */
export class Report {
  #passed = 0;
  #failed = 0;

  /** `run` returns what to say beside the name; it throws what is wrong with its cure. False: it failed. */
  async check(name: string, run: () => Promise<string>): Promise<boolean> {
    try {
      const said = await run();
      this.#passed += 1;
      process.stdout.write(`ok ${name}${said === '' ? '' : `: ${said}`}\n`);
      return true;
    } catch (error) {
      this.#failed += 1;
      process.stdout.write(`FAILED ${name}: ${(error as Error).message}\n`);
      return false;
    }
  }

  /** Something that this machine cannot try. */
  skip(name: string, why: string): void {
    process.stdout.write(`not tried ${name}: ${why}\n`);
  }

  /** Prints the sum. False: something failed. */
  end(): boolean {
    process.stdout.write(`${this.#passed} passed, ${this.#failed} failed\n`);
    return this.#failed === 0;
  }
}

/** A check that failed: what is wrong, and what to do. */
export function failed(why: string, cure: string): Error {
  return new Error(`${why}; ${cure}`);
}
