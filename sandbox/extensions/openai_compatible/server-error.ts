/** What a server said, with the fields that the router reads of an error of a provider, as those of the AI SDK tell it. */
export class ModelServerError extends Error {
  constructor(message: string, { cause, ...known }: { readonly cause?: unknown; readonly [field: string]: unknown }) {
    super(message, { cause });
    Object.assign(this, known);
  }
}
