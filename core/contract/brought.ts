import type { Diagnostic } from './errors.ts';
import { defineProtocol, method } from './protocol.ts';

/** Code that an extension brings from elsewhere and that runs as a separate extension: in a separate process, with tools, and with nothing that it may ask for. */
export interface BroughtExtension {
  /** `<word>:<name>`: tools of it are `<word>:<name>/<tool>`. `*` in `uses_tools` does not mean them. With `@` and 12 hex digits behind it, it is a version: what rules say of `<word>:<name>` holds for it too. */
  readonly id: string;
  /** Absolute. No module leaves it. */
  readonly directory: string;
  /** What people must correct. */
  readonly file: string;
  /** A file of the extension that brings it, which imports `pith` only. Its default export is given the modules, each with `name` and `load()` or `problem`, and makes the class. */
  readonly entry: string;
  /** `file` is relative to `directory`. One that cannot be bundled is given with the reason as its `problem`, as are those that have none. */
  readonly modules: readonly ({ readonly name: string; readonly file: string } | { readonly name: string; readonly problem: string })[];
}

/** Provided by an extension that brings others: the kernel asks it to open them. Agents have what `getTurnTools` says. */
export interface BroughtProvider {
  /** Opens one, or sees that it is as its code is now. Findings of severity `error`: it is not open. */
  bring(extensionId: string): Promise<readonly Diagnostic[]>;
  /** Opens all that it could bring, so that what is wrong with them shows. */
  bringAll(): Promise<void>;
}

export const BroughtProvider = defineProtocol<BroughtProvider>(
  'brought',
  {
    bring: method({ timeoutMs: 60_000 }),
    bringAll: method({ timeoutMs: null }),
  },
  { inProcessOnly: true },
);

/**
 * What opens them. The kernel answers it to an extension in its process that provides `brought`: `context.use(BroughtExtensions)`. Those that
 * are open close when that extension stops.
 */
export interface BroughtExtensions {
  /** Bundles the code as it is now and runs nothing. `unconfined`: why no sandbox confines it; null when one does, or when a person switched that off. */
  prepare(
    extension: BroughtExtension,
  ): Promise<{ readonly digest: string; readonly unconfined: { readonly why: string; readonly cure: string } | null }>;
  /** Runs the code of that digest, in the place of what ran of it. The names of its tools, and what is wrong with it. Rejects with the reason when it cannot run. */
  open(
    extension: BroughtExtension,
    digest: string,
  ): Promise<{ readonly tools: readonly string[]; readonly findings: readonly Diagnostic[] }>;
  close(extensionId: string): Promise<void>;
}

export const BroughtExtensions = defineProtocol<BroughtExtensions>(
  'brought.extensions',
  {
    prepare: method(),
    open: method(),
    close: method(),
  },
  { inProcessOnly: true },
);
