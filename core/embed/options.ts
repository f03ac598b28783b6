import type { ThreadLog } from '../agent/index.ts';
import type { AgentSpec, Clock, ExtensionContext, JsonValue, LanguageModel, Tool, ToolCall, TurnEvent } from '../contract/index.ts';

type Usage = Extract<TurnEvent, { type: 'turn-end' }>['usage'];

/** Any schema by the Standard Schema convention that gives JSON Schema, such as one of zod 4; or a JSON Schema. */
export type OutputSchema<Output = unknown> =
  | { readonly '~standard': StandardParts<Output> }
  | { readonly '~standard'?: undefined; readonly [keyword: string]: unknown };

interface StandardParts<Output> {
  readonly version?: unknown;
  readonly vendor?: unknown;
  validate(value: unknown): unknown;
  readonly jsonSchema?: unknown;
  readonly types?: { readonly output: Output } | undefined;
}

/** Any language model object of the AI SDK: provider specification v2, v3 or v4. */
export type EmbeddedModel = Omit<LanguageModel, 'specificationVersion' | 'doStream'> & {
  readonly specificationVersion: string;
  doStream(options: never): PromiseLike<{ readonly stream: AsyncIterable<unknown> | ReadableStream<unknown> }>;
};

/** A model object, also with its size, as `scriptedModel` of `pith/testing` has them. */
export type GivenModel = EmbeddedModel | { readonly model: EmbeddedModel; readonly contextWindow?: number | null };

/** A tool of Pith, a tool as the AI SDK has them, or a function without input. */
export type EmbeddedTool =
  | (Omit<Tool, 'needsApproval'> & { readonly needsApproval?: NeedsApproval })
  | {
      readonly description?: string | undefined;
      /** Any schema by the Standard Schema convention, or a JSON Schema (also as `{ jsonSchema }`). */
      readonly inputSchema?: unknown;
      /** Whatever is not false is asked about. */
      readonly needsApproval?: NeedsApproval;
      /** As `ToolDefinition.effect`. */
      readonly effect?: 'read' | 'idempotent' | 'write';
      readonly timeoutMs?: number;
      /** Of the AI SDK: what the model gets of the answer. */
      toModelOutput?(options: never): unknown;
      /** The last value counts where it answers with several. */
      execute?(input: never, call: never): unknown;
    }
  | ((call: ToolCall) => unknown);

type Asked = boolean | string | { readonly text: string };

/** Whether a call asks first, or a function that says it of an input. */
type NeedsApproval = boolean | Questioner['asks'] | undefined;

/** A method, so that functions whose input has a narrower type are taken. */
interface Questioner {
  asks(input: unknown, call: object): Asked | PromiseLike<Asked>;
}

/** A skill as an object, instead of a folder. */
export interface EmbeddedSkill {
  readonly id: string;
  readonly description: string;
  readonly body: string;
  /** Further files of its folder, by relative path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** What makes an agent; absent keys have the defaults of a manifest, and `usesTools` all tools of the program. */
export interface EmbeddedAgent extends Partial<Omit<AgentSpec, 'id' | 'limits' | 'declaredBy' | 'origin' | 'promptFile' | 'promptBy'>> {
  readonly id: string;
  /** Extensions, `extension/tool`, and names of the program's tools. */
  readonly usesTools?: readonly string[];
  /** Of each of its turns; absent: those of `createPith`, else the defaults of a manifest. */
  readonly limits?: Omit<Limits, 'cost'>;
}

/** An extension as an object, instead of a folder. It runs in the program's process. */
export interface EmbeddedExtension {
  readonly id: string;
  /** What its class implements: `tool`, `context`, `service`, `guard`, … */
  readonly provides?: readonly string[];
  /** Further keys of a manifest: `depends_on`, `config`, … Refused are `events.handles`, `jobs` and `schedules`: only `pith serve` and `pith chat` run them. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** As the default export of an entrypoint. */
  readonly extension: new (context: ExtensionContext<never>) => object;
}

/** Of one run with all that it calls: model steps, calls of tools, tokens of input and output together, milliseconds, dollars. Limits of agents still hold. */
export interface Limits {
  readonly steps?: number;
  readonly toolCalls?: number;
  readonly tokens?: number;
  readonly ms?: number;
  /** By the `prices` of the settings: a run with a model without a price is refused. */
  readonly cost?: number;
}

export interface Question {
  readonly id: string;
  /** `extension/tool`; of a tool that was given to `createPith` its name. */
  readonly tool: string;
  readonly input: JsonValue;
  /** SHA-256 of the exact input. */
  readonly digest: string;
  /** The agents that led to it, that of the run first. */
  readonly agents: readonly string[];
  readonly summary?: string;
  readonly details?: string;
  readonly thread: string;
}

/** `later` ends the run with `status: 'waiting'`. */
export type ApproveAnswer = 'yes' | 'no' | 'later' | boolean | { readonly no: string };

export type Approve = (question: Question, signal: AbortSignal) => ApproveAnswer | PromiseLike<ApproveAnswer>;

export interface PithOptions {
  /** A sandbox folder, of which agents, skills, extensions and settings are taken: whoever names it trusts it. Absent: none. */
  readonly sandbox?: string;
  /** The folder in which extensions such as `project_tools` work. Absent: none. */
  readonly project?: string;
  /** Folders of skills, folders that are a skill, and skills as objects. */
  readonly skills?: readonly (string | EmbeddedSkill)[];
  /**
   * Extensions that ship, besides those for skills and models (`web`, `project_tools`, …), folders with a `manifest.yaml` (a path with a
   * slash: whoever names one trusts it), and extensions as objects.
   */
  readonly extensions?: readonly (string | EmbeddedExtension)[];
  /** The first is used where a run names none. Absent: that of the sandbox, else one that has all skills and tools. */
  readonly agents?: readonly EmbeddedAgent[];
  /** Instructions of that agent. */
  readonly instructions?: string;
  /** By name. */
  readonly tools?: Readonly<Record<string, EmbeddedTool>>;
  /** A model object, a reference `provider/model` whose key is in `env`, or what gives the model for a reference or alias that an agent names. */
  readonly model?: string | GivenModel | ((ref: string) => GivenModel | PromiseLike<GivenModel>);
  /** Answers questions before tools run. Absent: the answer is no. */
  readonly approve?: Approve;
  /** Where threads are kept: in memory (default), in a folder, or in a store of the program's own. */
  readonly store?: 'memory' | (string & {}) | ThreadLog;
  readonly limits?: Limits;
  /** The time for everything; default: that of the system. */
  readonly clock?: Clock;
  /** As in `pith.yaml`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Variables that extensions and settings may see; `process.env` has to be given. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RunOptions<Output = unknown> {
  /** Goes on in a thread, or begins one of this id. Absent: a new one. */
  readonly thread?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly signal?: AbortSignal;
  /** They make those of `createPith` smaller, never larger. */
  readonly limits?: Limits;
  readonly userId?: string;
  /** What the answer must be: the model is told, and asked again where it is not, at most twice. */
  readonly output?: OutputSchema<Output>;
}

/** `waiting`: questions are open; go on with `resume`. `output` is checked, and undefined where none was asked for. */
export type RunResult<Output = unknown> = RunEnd &
  ({ readonly status: 'done'; readonly output: Output } | { readonly status: 'limit' | 'aborted' | 'waiting'; readonly output: undefined });

/** How a run ended. */
export interface RunEnd {
  /** What ended it with `status: 'limit'`, also where that is a limit of an agent. */
  readonly limit: keyof Limits | null;
  readonly text: string;
  /** Why `text` is not all of the answer: the model reached its output limit, or its content filter took the rest. */
  readonly cut: 'length' | 'filter' | null;
  readonly thread: string;
  /** Of its turns; of one that `resume` goes on with, also what it took before. */
  readonly usage: Usage;
  /** What that cost, by the `prices` of the settings; null where one is not known. */
  readonly cost: { readonly amount: number; readonly currency: 'USD' } | null;
  /** What waits for an answer. */
  readonly questions: readonly Question[];
}

/** Begins at once. Leaving a loop over it aborts it. */
export interface Run<Output = unknown> extends AsyncIterable<TurnEvent> {
  readonly thread: string;
  /** Also without a loop. Rejects with a `PithError` where the run failed; so does each loop, at its end. */
  readonly result: Promise<RunResult<Output>>;
  /** The text as it comes. Leaving a loop over it aborts the run, too. */
  readonly text: AsyncIterable<string>;
}

export interface Pith extends AsyncDisposable {
  run<Output = unknown>(text: string, options?: RunOptions<Output>): Run<Output>;
  /** Goes on where a run ended `waiting`, also in another process. `answers` by the ids of questions; `approve` is asked about those without one, and without it they stay open. Fails with `nothing_to_resume` and `approval_unknown`. */
  resume<Output = unknown>(
    thread: string,
    answers?: Readonly<Record<string, ApproveAnswer>>,
    options?: Pick<RunOptions<Output>, 'signal' | 'output'>,
  ): Run<Output>;
  /** What waits in a thread for an answer, also after a run of another process. */
  questions(thread: string): Promise<readonly Question[]>;
  /** All that agents may be offered. */
  skills(): Promise<readonly { readonly id: string; readonly description: string; readonly state: string }[]>;
  readonly threads: {
    /** Newest first. */
    list(limit?: number): Promise<readonly { readonly id: string; readonly title: string | null }[]>;
    /** What was said; null: there is no such thread. */
    messages(thread: string): Promise<readonly unknown[] | null>;
    remove(thread: string): Promise<void>;
  };
  /** Ends runs and releases everything. Never rejects. */
  close(): Promise<void>;
}
