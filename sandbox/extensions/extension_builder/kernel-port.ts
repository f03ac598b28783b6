import { CommandProvider, z, type ExtensionContext, type JsonValue } from 'pith';
import { type CapturedCommand, kernelCommands } from '@pith/command-line';

const failure = {
  phase: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
  cure: z.string().optional(),
};

const status = z.object({
  id: z.string(),
  ok: z.boolean().optional(),
  state: z.string(),
  directory: z.string(),
  shipped: z.boolean(),
  ...failure,
});

const shown = status.extend({
  provides: z.array(z.string()),
  asks: z.array(z.object({ ask: z.string(), withheld: z.boolean() })),
  notes: z.array(z.object({ ...failure, code: z.string(), message: z.string() })),
  manifest: z.unknown(),
});

const tool = z.object({
  name: z.string(),
  description: z.string(),
  effect: z.string(),
  needsApproval: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
});

const toolAnswer = z.object({ error: z.object({ code: z.string(), message: z.string() }).optional() });

export type ExtensionStatus = z.infer<typeof status>;
/** With what it declares and what is to be said of it. */
export type ShownExtension = z.infer<typeof shown>;

/** What the kernel does for the builder, through its commands. */
export class KernelPort {
  constructor(private readonly context: ExtensionContext) {}

  /** `ok: false` when what is written now did not load. */
  async reload(id: string, signal: AbortSignal): Promise<ExtensionStatus> {
    return status.parse(lastOf(await this.#run('extensions reload', { id }, signal)));
  }

  /** Records that a person agreed to what a manifest asks for. */
  async allow(id: string, asks: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#run('extensions allow', { id }, signal, { ask: asks });
  }

  /** It was never at work: what a person agreed to with it is theirs to agree to again. */
  async takeBack(id: string, signal: AbortSignal): Promise<void> {
    await this.#run('extensions allow', { id }, signal, { revoke: true });
  }

  async list(signal: AbortSignal): Promise<readonly ExtensionStatus[]> {
    return z.array(status).parse(lastOf(await this.#run('extensions list', {}, signal)) ?? []);
  }

  /** null: nothing declares it. */
  async show(id: string, signal: AbortSignal): Promise<ExtensionStatus | null> {
    return (await this.list(signal)).find((each) => each.id === id) ?? null;
  }

  /** Rejects `not_found` when nothing declares it. */
  async shown(id: string, signal: AbortSignal): Promise<ShownExtension> {
    return shown.parse(lastOf(await this.#run('extensions show', { id }, signal)));
  }

  /** Loads every extension that is switched on, and asks each guard about a call that nobody makes. */
  async loadAll(signal: AbortSignal): Promise<void> {
    await this.#run('doctor', {}, signal);
  }

  /** What an agent can call. */
  async tools(agent: string, signal: AbortSignal): Promise<readonly z.infer<typeof tool>[]> {
    return z.array(tool).parse(lastOf(await this.#run('tools list', {}, signal, { agent })));
  }

  /** What went wrong, if anything did. What a person must agree to is `approval_needed`. */
  async callTool(agent: string, name: string, input: JsonValue, signal: AbortSignal): Promise<z.infer<typeof toolAnswer>['error']> {
    const options = { agent, input: JSON.stringify(input) };
    return toolAnswer.parse(lastOf(await this.#run('tools call', { name }, signal, options))).error;
  }

  #run(
    path: string,
    given: Readonly<Record<string, string>>,
    signal: AbortSignal,
    options: Readonly<Record<string, string | boolean | readonly string[]>> = {},
  ): Promise<CapturedCommand> {
    return kernelCommands(this.context.find(CommandProvider)).run(path, { arguments: given, options }, signal);
  }
}

function lastOf({ values }: CapturedCommand): unknown {
  return values.at(-1);
}
