import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { type CommandContext, PithError, Places } from 'pith';
import type { ActingUser } from '@pith/command-line';
import { parseLeniently } from '@pith/checked-yaml';
import { configSchema, type SkillsConfig } from '../config.ts';
import { SkillRegistry, type RegistryOptions } from '../registry.ts';
import type { Snapshot } from '../skill.ts';
import type { RegistryConfig } from '../scan/sources.ts';

/** What every registry of this extension is made of, whoever starts it. */
export function registryOptions(context: CommandContext): RegistryOptions {
  const { dataDirectory, clock, logger } = context;
  // What ships is not beside this extension, which may be in the user's sandbox.
  const { sandbox, project, untrustedSandbox, projectFiles, shippedSandbox: shipped, home } = context.use(Places);
  return {
    sandbox,
    untrustedSandbox,
    projectFiles,
    home,
    dataDirectory,
    clock,
    logger,
    config: context.config as RegistryConfig, // checked by who starts it
    project: project ?? path.dirname(sandbox),
    bundled: shipped === sandbox ? null : path.join(shipped, 'skills'),
    carried: carriedSkills(path.join(shipped, 'extensions')),
  };
}

/** The folders `skills` of the extensions that ship. Nothing is added to them while Pith runs. */
function carriedSkills(extensions: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!existsSync(extensions)) return found;
  for (const id of readdirSync(extensions).sort()) {
    const directory = path.join(extensions, id, 'skills');
    if (existsSync(directory)) found.set(id, directory);
  }
  return found;
}

/** Gives a command the skills as they are now and as who gives it may see them, and ends what was opened for that. */
export type WithSkills = <T>(by: ActingUser, run: (registry: SkillRegistry, snapshot: Snapshot) => Promise<T> | T) => Promise<T>;

/** The skills as they are now, where nothing runs that knows them. `run` may read bodies; what was learnt is written down when it ends. */
export async function withRegistry<T>(
  context: CommandContext,
  run: (registry: SkillRegistry, snapshot: Snapshot) => Promise<T> | T,
): Promise<T> {
  const registry = new SkillRegistry({ ...registryOptions(context), config: usableSettings(context.config) });
  try {
    return await run(registry, await registry.refresh());
  } finally {
    await registry.close();
  }
}

/** The settings as the kernel gives them to an extension that it starts. Throws `config_invalid` where it would not start. */
function usableSettings(config: unknown): SkillsConfig {
  const { data } = parseLeniently(configSchema(), config);
  if (data !== null) return data;
  throw new PithError('config_invalid', "'skills.allowed' must be a list of texts", { cure: "correct it under 'skills' in pith.yaml" });
}
