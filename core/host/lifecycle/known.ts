import { isDeepStrictEqual } from 'node:util';
import type { SurfaceDescriptor } from '../calls/surface.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { checkConfig } from './config-check.ts';
import type { ExtensionClass } from './import-class.ts';
import { slotKey } from './slot.ts';

type Config = Readonly<Record<string, unknown>>;

/**
 * The configuration as the schema of a shipped extension parses it. The index keeps it: the same sources with the same settings need
 * neither the schema nor zod again. Throws `config_invalid` as `checkConfig` does.
 */
export function knownConfig(parts: HostParts, declaration: Declaration, Class: ExtensionClass): Config {
  const { index, configOf } = parts.options;
  const effective = configOf(declaration);
  const key = slotKey({ declaration, config: effective });
  const name = `config ${declaration.id}`;
  const known = index.surface(name, key);
  if (known !== undefined) return structuredClone(known) as Config;
  const config = checkConfig(Class.config, effective, declaration.file);
  const kept = JSON.parse(JSON.stringify(config)) as Config;
  if (isDeepStrictEqual(kept, config)) index.putSurface(name, key, kept);
  return config;
}

/** What a shipped extension offered when its tools were last described. */
export function knownSurface(parts: HostParts, declaration: Declaration): SurfaceDescriptor | undefined {
  const { index, configOf } = parts.options;
  return index.surface(declaration.id, slotKey({ declaration, config: configOf(declaration) })) as SurfaceDescriptor | undefined;
}
