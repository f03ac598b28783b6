import path from 'node:path';
import { shippedSandbox, type CommandContext } from 'pith';
import { createRegistry, type RegistryOptions, type SkillRegistry } from '../registry.ts';
import type { Snapshot } from '../skill.ts';
import type { RegistryConfig } from '../scan/sources.ts';
import { checkSettings } from './settings-check.ts';

/** What every registry of this extension is made of, whichever way it was started. */
export function registryOptions(context: CommandContext): RegistryOptions {
  const { sandbox, dataDirectory, clock, logger } = context;
  const shipped = shippedSandbox(); // this extension may stand in the user's sandbox
  return {
    sandbox,
    dataDirectory,
    clock,
    logger,
    config: context.config as RegistryConfig, // checked by who starts it
    project: path.dirname(sandbox),
    bundled: shipped === sandbox ? null : path.join(shipped, 'skills'),
  };
}

/** The skills as they are now. `run` may read bodies; what was learnt is written down when it ends. */
export async function withRegistry<T>(
  context: CommandContext,
  run: (registry: SkillRegistry, snapshot: Snapshot) => Promise<T> | T,
): Promise<T> {
  checkSettings(context.config);
  const registry = createRegistry({ ...registryOptions(context), keepsBodies: false });
  try {
    return await run(registry, await registry.refresh());
  } finally {
    await registry.close();
  }
}
