import type { ChannelProvider, Remote } from 'pith';

/** The channels that there are, with their kinds: code of one that was not needed yet is loaded for that. One that cannot run is left out. */
export async function channelsOf(find: () => readonly Remote<ChannelProvider>[]): Promise<readonly Remote<ChannelProvider>[]> {
  const isKnown = ({ kinds }: Remote<ChannelProvider>): boolean => Array.isArray(kinds);
  const unknown = find().filter((channel) => !isKnown(channel));
  await Promise.all(unknown.map((channel) => channel.filters?.().catch(() => undefined))); // one without filters rejects, and is loaded
  return find().filter(isKnown);
}
