import type { Clock, LanguageModel, ModelProvider } from '../contract/index.ts';

/** A prefix that an extension offers models under, in the words of its manifest. */
export interface DeclaredModel {
  readonly extensionId: string;
  /** Of an extension that ships, or of one by which a person replaces it. */
  readonly shipped: boolean;
  readonly prefix: string;
  /** Chosen without settings when all of these are set. */
  readonly when_env: readonly string[];
  /** Chosen without settings when something listens on this loopback port. */
  readonly when_port?: number;
  /** Higher wins. */
  readonly rank: number;
  /** The model taken when only the prefix is known; absent: the first that the provider lists. */
  readonly default?: string;
}

export interface RouterDependencies {
  /** Read at each use; call `invalidate` after a change. */
  readonly settings: { readonly models: Readonly<Record<string, string | undefined>> };
  readonly env: Readonly<Record<string, string | undefined>>;
  declared(): readonly DeclaredModel[];
  provider(
    extensionId: string,
  ): Promise<Pick<ModelProvider, 'models'> & { getModel(name: string, prefix: string): Promise<ResolvedParts> }>;
  /** True when something listens on the port of the loopback address. */
  probePort(port: number): Promise<boolean>;
  readonly clock: Clock;
  /** Replaces every model: for tests. */
  readonly override?: ResolvedParts;
}

export interface ResolvedParts {
  readonly model: LanguageModel;
  readonly contextWindow: number | null;
}
