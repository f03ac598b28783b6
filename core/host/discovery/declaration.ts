import type { Diagnostic, Failure, Manifest } from '../../contract/index.ts';

/** A folder with a `manifest.yaml` (or an `AGENT.md`), as it stands on disk. Plain data: the persisted index keeps it. */
export interface Declaration {
  /** The folder's name. */
  readonly id: string;
  readonly directory: string;
  /** The manifest.yaml or AGENT.md. */
  readonly file: string;
  /** null when the file is broken; then `diagnostics` say why. */
  readonly manifest: Manifest | null;
  /** The prompt template beside the manifest: `prompt.jinja2`, `prompt.j2` or `prompt.njk`. */
  readonly prompt: { readonly file: string; readonly text: string } | null;
  /** Found in Pith's own sandbox. */
  readonly shipped: boolean;
  /** It stands in a sandbox of one's own in the place of what ships under this id, and has its names. */
  readonly replacesShipped?: true;
  /** Hash over relative paths and bytes of the folder's files; changes when any of them does. */
  readonly digest: string;
  readonly diagnostics: readonly Diagnostic[];
  /** `[line, column]` in `file` by dotted path, for the parts that later checks speak of: `agent.*`, `config.*`, `provides`, `depends_on`, … */
  readonly positions?: Readonly<Record<string, readonly [number, number]>>;
  /** No folder declares it: the modules of a skill, `path:Export` each, run as an extension in a separate process. */
  readonly toolset?: readonly string[];
  /** What its folder asks for and does not have: `manifest` is without it. Absent: nothing. */
  readonly withheld?: readonly { readonly ask: string; readonly never: string | null }[];
}

/** Whether the names of its commands, tools and models are those that ship: a stranger's equal name gives way. */
export function keepsNames({ shipped, replacesShipped }: Pick<Declaration, 'shipped' | 'replacesShipped'>): boolean {
  return shipped || replacesShipped === true;
}

/** All declarations and what their edges mean. Immutable; a change on disk makes a new one. */
export interface Discovery {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Ids in starting order: hard dependencies before dependents. Failed and blocked ones are left out. */
  readonly order: readonly string[];
  /** By id: broken manifests, cycles, missing or failed hard dependencies. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** Findings that belong to no declaration. */
  readonly diagnostics: readonly Diagnostic[];
}
