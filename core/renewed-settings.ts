import type { Clock, Events } from './contract/index.ts';
import type { SandboxReading } from './host/sandbox-reading.ts';

/** Reads the settings again while Pith runs, and tells each error in them once, as of a reload that failed; true when something changed. */
export async function renewedSettings(reading: SandboxReading, events: Pick<Events, 'publish'>, clock: Clock): Promise<boolean> {
  const told = new Set(reading.diagnostics.map(({ message }) => message));
  const before = reading.settings;
  const changed = await reading.renew();
  const held = reading.settings === before ? '; the settings that were read before hold' : '';
  for (const { severity, code, message, file, line, cure } of reading.diagnostics) {
    if (severity !== 'error' || told.has(message)) continue;
    events.publish('extension.failed', {
      extensionId: 'settings',
      phase: 'reload',
      code,
      message: `${message}${held}`,
      at: clock.now(),
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
      ...(cure === undefined ? {} : { cure }),
    });
  }
  return changed;
}
