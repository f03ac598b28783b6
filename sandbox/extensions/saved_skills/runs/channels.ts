import { PithError, type ChannelProvider, type Remote } from 'pith';

/** The channels that there are, with their kinds: code of one that was not needed yet is loaded for that. One that cannot run is left out. */
export async function channelsOf(find: () => readonly Remote<ChannelProvider>[]): Promise<readonly Remote<ChannelProvider>[]> {
  const isKnown = ({ kinds }: Remote<ChannelProvider>): boolean => Array.isArray(kinds);
  const unknown = find().filter((channel) => !isKnown(channel));
  await Promise.all(unknown.map((channel) => channel.filters?.().catch(() => undefined))); // one without filters rejects, and is loaded
  return find().filter(isKnown);
}

/** The kind of channel that a target is for: `pager` of `pager:ada`, `webhook` of an http address. */
export function kindOf(target: string): string {
  return /^https?:\/\//i.test(target) ? 'webhook' : (target.split(':', 1)[0] ?? target);
}

/** The one of these channels that delivers to a target. Throws `channel_unknown`. */
export function channelFor(target: string, channels: readonly Remote<ChannelProvider>[]): Remote<ChannelProvider> {
  const kind = kindOf(target);
  const channel = channels.find(({ kinds }) => kinds.includes(kind));
  if (channel !== undefined) return channel;
  const known = [...new Set(channels.flatMap(({ kinds }) => kinds))];
  throw new PithError('channel_unknown', `no channel here delivers to '${kind}'`, {
    cure: known.length === 0 ? 'there are none' : `channels deliver to ${known.join(', ')}`,
  });
}
