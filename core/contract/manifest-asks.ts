import type { Manifest } from './manifest.ts';

/** What a manifest asks for beyond its own folder and data, one entry each, sorted: `network`, `secret NAME`, `read PATH`, `write PATH`, `hears TOPIC`, `agent ID`. */
export function manifestAsks(manifest: Manifest): readonly string[] {
  const { permissions, secrets, events } = manifest;
  const asks = [
    ...(permissions.network ? ['network'] : []),
    ...secrets.map((name) => `secret ${name}`),
    ...permissions.read.map((file) => `read ${file}`),
    ...permissions.write.map((file) => `write ${file}`),
    ...events.handles.map(({ topic }) => `hears ${topic}`), // also what it publishes: others do so too
    ...permissions.agents.map((id) => `agent ${id}`),
  ];
  return [...new Set(asks)].sort();
}

/** What `permissions.network` gives, as a person who agrees to it must read it. */
export const NETWORK_REACH = 'everything this machine can reach, local services and metadata addresses too';
