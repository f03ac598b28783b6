import type {
  ExtensionContext,
  JsonValue,
  Logger,
  ModelCallOptions,
  ModelPart,
  LanguageModel,
  Protocol,
  Remote,
  ToolCall,
  ToolResult,
} from 'pith';
import { type defineTool, isToolResult, Places, toolResult } from 'pith';
import { systemClock } from '@pith/promises';

/** Lines that were logged, for assertions. */
export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface FakeContextOptions<Config> {
  readonly config: Config;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly sandbox?: string;
  readonly dataDirectory?: string;
  readonly lines?: LoggedLine[];
}

/** As much of an extension's context as these extensions use; the rest throws when it is touched. */
export function fakeContext<Config>(options: FakeContextOptions<Config>): ExtensionContext<Config> {
  const lines = options.lines ?? [];
  const log = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) =>
    void lines.push({ level, message, fields });
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const parts: Partial<ExtensionContext<Config>> = {
    config: options.config,
    dataDirectory: options.dataDirectory ?? '/nowhere/data',
    use: usePlaces({ sandbox: options.sandbox ?? '/nowhere' }),
    logger,
    clock: systemClock,
    getSecret: (name) => options.secrets?.[name] ?? null,
    own: () => undefined,
  };
  return new Proxy(parts as ExtensionContext<Config>, {
    get(target, name, receiver) {
      if (!(name in target)) throw new Error(`the fake context has no '${String(name)}'`);
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}

/** `use` as it answers before anything else is there; what is not said is nowhere. */
export function usePlaces(places: Partial<Places>): ExtensionContext['use'] {
  const answer = { extensionId: 'kernel', sandbox: '/nowhere', untrustedSandbox: null, shippedSandbox: '/nowhere', home: null, ...places };
  return <T extends object>(protocol: Protocol<T>) => {
    if (protocol.id !== Places.id) throw new Error(`the fake context has no '${protocol.id}'`);
    return answer as Remote<object> as Remote<T>;
  };
}

/** Runs a tool as the host does: parses the input, calls, makes a ToolResult. `approved`: the subject that a person agreed to. */
export async function callTool(
  tools: readonly Parameters<typeof defineTool>[0][],
  name: string,
  input: unknown,
  signal = new AbortController().signal,
  approved?: string,
): Promise<ToolResult> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool '${name}'`);
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) return { ok: false, error: { code: 'tool_input_invalid', message: parsed.error.message } };
  const result = await tool.execute(parsed.data, { signal, idempotencyKey: 'turn/0/0', approved } as ToolCall);
  return isToolResult(result) ? result : toolResult(result as JsonValue);
}

export function outputOf(result: ToolResult): JsonValue {
  if (!result.ok) throw new Error(`expected a result, got ${result.error.code}: ${result.error.message}`);
  return result.output;
}

export function errorOf(result: ToolResult): { readonly code: string; readonly message: string } {
  if (result.ok) throw new Error(`expected an error, got ${JSON.stringify(result.output)}`);
  return result.error;
}

/** All parts of one call of a model. */
export async function partsOf(
  model: LanguageModel,
  options: Partial<ModelCallOptions> & Pick<ModelCallOptions, 'prompt'>,
): Promise<ModelPart[]> {
  const { stream } = await model.doStream(options);
  const parts: ModelPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
}

export function userText(text: string): ModelCallOptions['prompt'][number] {
  return { role: 'user', content: [{ type: 'text', text }] };
}
