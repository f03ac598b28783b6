import type { TemplateVariables } from '@pith/guarded-templates';
import type { AgentProvider, AgentSpec, ExtensionContext, LanguageModel, ModelProvider, Tool, TurnRequest } from '../../contract/index.ts';

/** What the kernel keeps of a tool: plain data. */
export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly effect: NonNullable<Tool['effect']>;
  /** `maybe` means that the tool must be asked with the input. */
  readonly needsApproval: 'never' | 'always' | 'maybe';
  readonly timeoutMs: number;
  readonly optIn: boolean;
  /** It also stands for each agent with `integration_mode: tool` that its caller may call. */
  readonly agentTools?: true;
  /** It gives its name up for a tool that ships. */
  readonly yields?: true;
  readonly permission: NonNullable<Tool['permission']>;
}

/** What a declared extension is at this moment. `idle`: declared and healthy, its code not loaded yet. */
export type ExtensionState = 'active' | 'idle' | 'failed' | 'blocked' | 'disabled';

export function canRun(state: ExtensionState | undefined): boolean {
  return state === 'active' || state === 'idle';
}

/** A text that comes in pieces, cleaned of secrets. */
export interface CleanStream {
  /** What can be shown of what has come until now. */
  feed(piece: string): string;
  /** The rest: nothing more comes. */
  end(): string;
}

/** Takes the values of declared secrets out of what models say: a server may repeat its key. */
export interface Cleaning {
  redact(text: string): string;
  /** null while there is nothing to hide. */
  stream(): CleanStream | null;
  /** `value` with every text in it clean; itself where there is nothing to hide. */
  redactJson<T>(value: T): T;
}

/** The prompt template of an agent that an extension brought, and the plain values for it. */
export interface BroughtPrompt {
  readonly text: string;
  readonly file: string | null;
  readonly variables: TemplateVariables;
}

/** An agent as the kernel checked and completed it. `spec` is null when its file is broken; then `diagnostics` say why. */
export interface FoundAgent extends Omit<Awaited<ReturnType<AgentProvider['listAgents']>>[number], 'spec'> {
  readonly spec: AgentSpec | null;
}

/** An agent as a file declares it. */
export interface AgentDeclaration extends FoundAgent {
  /** The extension to ask for it. */
  readonly readBy?: string | undefined;
}

/** The extension outside the kernel that asks for a turn. The host writes it; nothing that such an extension sends can. */
export interface TurnOrigin {
  readonly extensionId: string;
  /** Agents that a person lets it start. */
  readonly agents: readonly string[];
}

/** A request as the kernel passes it on: with who made it, where that is not the kernel's own code. */
export type OriginalRequest = TurnRequest & { readonly origin?: TurnOrigin };

/** `ExtensionContext['agents']` with the origin of a request, which the host writes. */
export interface HostAgents extends Omit<ExtensionContext['agents'], 'run'> {
  run(request: OriginalRequest, signal?: AbortSignal): ReturnType<ExtensionContext['agents']['run']>;
}

/** A prefix that an extension offers models under, in the words of its manifest. */
export interface DeclaredModel {
  readonly extensionId: string;
  /** Of an extension that ships, or of one by which a person replaces it. */
  readonly shipped: boolean;
  readonly prefix: string;
  /** Chosen without settings when all of these are set. */
  readonly when_env: readonly string[];
  /** Chosen without settings when the extension finds a local server. */
  readonly when_local: boolean;
  /** Higher wins. */
  readonly rank: number;
  /** The model taken when only the prefix is known; absent: the first that the provider lists. */
  readonly default?: string;
}

export interface ModelParts {
  readonly model: LanguageModel;
  readonly contextWindow: number | null;
}

/** The models of one extension. Each call goes to the version that runs then. */
export interface RoutedProvider extends Pick<ModelProvider, 'models' | 'findLocal'> {
  getModel(name: string, prefix: string): Promise<ModelParts>;
}

/** Another extension, as `context.use` and `context.find` must know it without waiting. */
export interface ProviderFacts {
  readonly id: string;
  readonly provides: readonly string[];
  readonly constants: Readonly<Record<string, unknown>>;
  /** It runs or could run now. */
  readonly reachable: boolean;
}

/** One member of a provider, as code in a separate process asks for it. */
export interface ProviderMember {
  readonly extensionId: string;
  readonly protocol: string;
  readonly name: string;
}
