import type { TurnInfo } from 'pith';

/** The channel id of a conversation in a terminal. */
export const CHANNEL_ID = 'cli';

/** The same bytes for every turn of a user, so that prompt caches live; null for conversations of other channels. */
export function describeChannel(turn: Pick<TurnInfo, 'channelId' | 'userId'>): string | null {
  if (turn.channelId !== CHANNEL_ID) return null;
  return [
    '[Channel]',
    `You are talking with the user \`${turn.userId}\` in a terminal.`,
    'Your answer is shown as Markdown: headings, lists, bold, code and small tables. Images, HTML and LaTeX are not shown.',
    'Keep answers short: a terminal shows about 40 lines.',
  ].join('\n');
}
