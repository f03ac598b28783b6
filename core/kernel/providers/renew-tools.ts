import type { Off } from '../../contract/index.ts';
import type { ToolDescriptor } from '../records/extensions-port.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Generation } from '../calls/generation.ts';
import { invoke } from '../calls/invoke.ts';
import { problemOf } from '../records/problem.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { runOutside } from '../records/stray-errors.ts';

/** How long an extension may take to say its tools again. */
const DESCRIBE_MS = 10_000;

/** What `tool.describe` answers. */
export interface DescribedTools {
  readonly tools: readonly ToolDescriptor[];
  readonly warnings: readonly string[];
}

/**
 * Asks a running extension for its tools again whenever it says that they changed. One question at a time for each extension;
 * what is published meanwhile asks once more.
 */
export function renewToolsWhenChanged(lifecycle: Lifecycle): Off {
  const asking = new Map<string, { again: boolean }>();
  return lifecycle.runtime.services.events.handle('provider.changed', ({ extensionId, protocol }) => {
    if (protocol !== 'tool') return;
    const open = asking.get(extensionId);
    if (open) {
      open.again = true;
      return;
    }
    const state = { again: false };
    asking.set(extensionId, state);
    void runOutside(async () => {
      do {
        state.again = false;
        const slot = lifecycle.slots.get(extensionId);
        if (slot?.current) await renew(lifecycle, slot, slot.current);
      } while (state.again);
      asking.delete(extensionId);
    });
  });
}

/** Never rejects: what goes wrong is recorded, and the tools stay as they were. */
async function renew(lifecycle: Lifecycle, slot: Slot, generation: Generation): Promise<void> {
  const { runtime } = lifecycle;
  if (!generation.surface.operations.has('tool.describe')) return;
  try {
    const described = await invoke(lifecycle, generation, {
      operation: 'tool.describe',
      values: [],
      timeoutMs: DESCRIBE_MS,
      signal: undefined,
      phase: 'call',
    });
    if (slot.current !== generation) return; // replaced meanwhile: the new version has said its own
    const { tools, warnings } = runtime.secrets.redactJson(described) as DescribedTools;
    generation.surface = { ...generation.surface, descriptor: { ...generation.surface.descriptor, tools, warnings } };
    lifecycle.remember(generation);
    lifecycle.changed(slot.id);
  } catch (error) {
    runtime.failures.record(slot.id, problemOf(error, 'call', 'provider_failed')); // nobody waits for an answer
  }
}
