/** Runs checks one after the other, and prints a line for each. */
export class Report {
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  /** `run` returns what it has found, to say beside the name: nothing is a failure. It throws what is wrong with its cure. False: it failed. */
  async check(name: string, run: () => Promise<string>): Promise<boolean> {
    try {
      const said = await run();
      if (said === '') throw failed('it found nothing that it could check', 'see scripts/release-check.ts');
      this.#passed += 1;
      process.stdout.write(`ok ${name}: ${said}\n`);
      return true;
    } catch (error) {
      this.#failed += 1;
      process.stdout.write(`FAILED ${name}: ${(error as Error).message}\n`);
      return false;
    }
  }

  /** Something that this machine cannot try. */
  skip(name: string, why: string): void {
    this.#skipped += 1;
    process.stdout.write(`not tried ${name}: ${why}\n`);
  }

  /** Prints the sums. False: something failed. */
  end(): boolean {
    process.stdout.write(`${this.#passed} passed, ${this.#failed} failed, ${this.#skipped} not tried\n`);
    return this.#failed === 0;
  }
}

/** A check that failed: what is wrong, and what to do. */
export function failed(why: string, cure: string): Error {
  return new Error(`${why}; ${cure}`);
}

/** `48 packages`; empty for none. */
export function countOf(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}`;
}

/** A size in MB. Throws where there is nothing, or more than `most`. */
export function within(bytes: number, most: number): string {
  const text = `${(bytes / 1_000_000).toFixed(1)} MB`;
  if (bytes === 0) throw failed('there is nothing', 'see what was installed');
  if (bytes > most * 1_000_000) throw failed(`${text} are more than ${most} MB`, 'see what has grown');
  return text;
}
