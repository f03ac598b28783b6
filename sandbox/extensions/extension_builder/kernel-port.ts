import { captureCommand, CommandProvider, PithError, z, type CapturedCommand, type ExtensionContext } from 'pith';

const diagnostic = {
  severity: z.enum(['error', 'warning', 'info']),
  code: z.string(),
  message: z.string(),
  file: z.string().optional(),
  line: z.number().optional(),
  cure: z.string().optional(),
};

const probeReport = z.object({
  id: z.string(),
  findings: z.array(z.object({ check: z.string(), ...diagnostic })),
  tools: z.array(z.object({ name: z.string(), description: z.string(), effect: z.string(), needsApproval: z.string() })),
  tried: z.array(z.string()),
});

const status = z.object({
  id: z.string(),
  ok: z.boolean().optional(),
  state: z.string(),
  directory: z.string(),
  message: z.string().optional(),
});

const confinement = z.object({ why: z.string().nullable() });

export type ProbeReport = z.infer<typeof probeReport>;
export type ExtensionStatus = z.infer<typeof status>;

/** What the kernel does for the builder, through its commands. */
export class KernelPort {
  constructor(private readonly context: ExtensionContext) {}

  async probe(directory: string, signal: AbortSignal): Promise<ProbeReport> {
    return probeReport.parse(lastOf(await this.#run('extensions probe', { dir: directory }, signal)));
  }

  /** Why no sandbox holds what is checked; null: one does. */
  async unconfined(signal: AbortSignal): Promise<string | null> {
    return confinement.parse(lastOf(await this.#run('extensions probe', { dir: '.' }, signal, { how: true }))).why;
  }

  /** `ok: false` when what is written now did not load. */
  async reload(id: string, signal: AbortSignal): Promise<ExtensionStatus> {
    return status.parse(lastOf(await this.#run('extensions reload', { id }, signal)));
  }

  /** Records that a person agreed to what a manifest asks for. */
  async allow(id: string, asks: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#run('extensions allow', { id }, signal, { ask: asks });
  }

  /** null: nothing declares it. */
  async show(id: string, signal: AbortSignal): Promise<ExtensionStatus | null> {
    const { values } = await this.#run('extensions list', {}, signal);
    return (
      z
        .array(status)
        .parse(values.at(-1) ?? [])
        .find((each) => each.id === id) ?? null
    );
  }

  #run(
    path: string,
    given: Readonly<Record<string, string>>,
    signal: AbortSignal,
    options: Readonly<Record<string, boolean | readonly string[]>> = {},
  ): Promise<CapturedCommand> {
    const kernel = this.context.find(CommandProvider).find(({ extensionId }) => extensionId === 'kernel');
    if (kernel === undefined)
      throw new PithError('provider_unavailable', 'the kernel offers no commands here', { cure: 'run it by the pith command' });
    return captureCommand(kernel, path, { arguments: given, options }, signal);
  }
}

function lastOf({ values }: CapturedCommand): unknown {
  return values.at(-1);
}
