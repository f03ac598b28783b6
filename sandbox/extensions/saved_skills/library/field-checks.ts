import { PithError } from 'pith';

type Path = readonly (string | number)[];

/** Checks of one document, each of one field. All that they refuse is said at once. */
export class FieldChecks {
  readonly #refusals: PithError[] = [];

  /** What `check` resolves; `otherwise` where it refuses the field. */
  async of<T>(path: Path, otherwise: T, check: () => T | Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof PithError) || error.retryable || error.code === 'database_failed') throw error; // not the field's fault
      const { code, message, cure, problems = [{ path, message }] } = error;
      this.#refusals.push(new PithError(code, message, { cause: error, cure, problems }));
      return otherwise;
    }
  }

  isRefused(field: string): boolean {
    return this.#refusals.some(({ problems = [] }) => problems.some(({ path }) => path[0] === field));
  }

  /** Throws what was refused, with the code of the first. */
  settle(): void {
    const [first, ...others] = this.#refusals;
    if (first === undefined) return;
    if (others.length === 0) throw first;
    throw new PithError(first.code, this.#refusals.map(({ message }) => message).join('; '), {
      cause: first,
      cure: 'correct each; nothing was saved',
      problems: this.#refusals.flatMap(({ problems = [] }) => problems),
    });
  }
}
