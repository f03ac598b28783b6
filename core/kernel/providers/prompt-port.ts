import type { BroughtPrompt } from '../records/extensions-port.ts';
import { renderPrompt } from '../calls/render-prompt.ts';
import { messageOf, PithError } from '../../contract/index.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';

const RENDER_MS = 5000;

/** Renders in the process of the extension that brought the prompt, starting it where needed. Rejects `prompt_invalid`, or `aborted`. */
export async function renderBrought(
  lifecycle: Lifecycle,
  extensionId: string,
  prompt: BroughtPrompt,
  signal: AbortSignal,
): Promise<string> {
  const { runtime } = lifecycle;
  try {
    const slot = lifecycle.slots.get(extensionId);
    if (!slot) throw unavailable(extensionId, 'nothing declares it');
    if ((slot.current?.tier ?? runtime.rights.tierOf(slot.declaration)) === 'in_process') return await renderPrompt(prompt);
    const generation = await lifecycle.ready(slot);
    const timedOut = (): PithError => new PithError('provider_timeout', `it took longer than ${RENDER_MS} ms and was cut`);
    const text = await generation.calls.run({ timeoutMs: RENDER_MS, timedOut, signal }, (cut) => generation.renderPrompt(prompt, cut));
    return runtime.secrets.redact(text);
  } catch (error) {
    if (error instanceof PithError && (error.code === 'prompt_invalid' || error.code === 'aborted')) throw error;
    throw new PithError('prompt_invalid', `the prompt that '${extensionId}' brought was not rendered by its process: ${messageOf(error)}`, {
      cause: error,
      where: prompt.file ?? undefined,
      cure: `see 'pith doctor' for ${extensionId}`,
    });
  }
}
