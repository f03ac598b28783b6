import { messageOf, type ChannelProvider, type Logger, type Remote } from 'pith';
import { emojiOf, type RunState as EmojiState, type SavedSkill } from '../domain/index.ts';
import type { Run } from './run.ts';

/** Shows by emoji how far a run is, on the message that asked for it. What fails is logged and changes nothing. */
export class Reactions {
  readonly #shown = new Set<string>();
  #last: Promise<void> = Promise.resolve();

  constructor(
    private readonly run: Pick<Run, 'id' | 'origin'>,
    private readonly skill: Pick<SavedSkill, 'default_emoji' | 'state_react_emoji'>,
    private readonly ports: { readonly channels: () => Promise<readonly Remote<ChannelProvider>[]>; readonly logger: Pick<Logger, 'warn'> },
  ) {}

  /** The same one is shown once, and each after the one before. */
  show(state: EmojiState): void {
    const emoji = emojiOf(this.skill, state);
    const { channelId, message } = this.run.origin;
    if (emoji === null || this.#shown.has(emoji) || message === null || channelId === null) return;
    this.#shown.add(emoji);
    this.#last = this.#last
      .then(() => this.#send(channelId, message, emoji))
      .catch((error: unknown) => this.ports.logger.warn('a reaction was not shown', { run: this.run.id, reason: messageOf(error) }));
  }

  /** By an earlier attempt. */
  wasShown(state: EmojiState): void {
    const emoji = emojiOf(this.skill, state);
    if (emoji !== null) this.#shown.add(emoji);
  }

  async #send(channelId: string, message: string, emoji: string): Promise<void> {
    const channel = (await this.ports.channels()).find((each) => each.extensionId === channelId || each.kinds.includes(channelId));
    await channel?.react?.(message, emoji);
  }
}
