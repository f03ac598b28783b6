import path from 'node:path';
import type { CommandContext } from 'pith';
import { createRegistry, type RegistryOptions, type SkillRegistry } from '../registry.ts';
import type { Snapshot } from '../skill.ts';
import type { RegistryConfig, SourceSetting } from '../sources.ts';

/** What every registry of this extension is made of, whichever way it was started. */
export function registryOptions(context: CommandContext): RegistryOptions {
  const { sandbox, dataDirectory, clock, logger } = context;
  const shipped = path.resolve(context.directory, '../../skills');
  return {
    sandbox,
    dataDirectory,
    clock,
    logger,
    config: registryConfig(context.config),
    project: path.dirname(sandbox),
    bundled: shipped === path.join(sandbox, 'skills') ? null : shipped,
  };
}

/** The skills as they are now. `run` may read bodies; what was learnt is written down when it ends. */
export async function withRegistry<T>(
  context: CommandContext,
  run: (registry: SkillRegistry, snapshot: Snapshot) => Promise<T> | T,
): Promise<T> {
  const registry = createRegistry({ ...registryOptions(context), keepsBodies: false });
  try {
    return await run(registry, await registry.refresh());
  } finally {
    await registry.close();
  }
}

/** A command that needs only the index has settings that no schema has seen: what does not fit is left out. */
function registryConfig(config: Readonly<Record<string, unknown>>): RegistryConfig {
  const { enabled, sources, skills_path: skillsPath, poll_seconds: pollSeconds } = config;
  const replace = typeof sources === 'object' && sources !== null && 'replace' in sources ? sources.replace : null;
  return {
    enabled: enabled !== false,
    allowed: texts(config['allowed']),
    disabled: texts(config['disabled']),
    sources: replace === null ? settings(sources) : { replace: settings(replace) },
    skills_path: typeof skillsPath === 'string' ? skillsPath : null,
    trusted_links: texts(config['trusted_links']),
    poll_seconds: typeof pollSeconds === 'number' ? pollSeconds : 5,
  };
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function settings(value: unknown): readonly SourceSetting[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (item: unknown): item is SourceSetting =>
      typeof item === 'string' || (typeof item === 'object' && item !== null && 'path' in item && typeof item.path === 'string'),
  );
}
