import type { CommandIO } from 'pith';
import type { Context } from '../config.ts';

/** What each person was shown last of each proposal: without a terminal, they approve that and nothing else. */
export class Shown {
  constructor(private readonly context: Context) {}

  async keep(id: string, digest: string, { userId }: Pick<CommandIO, 'userId'>): Promise<void> {
    await this.context.kv.set(keyOf(id, userId), { digest, at: this.context.clock.now() });
  }

  /** null: this person has not looked at it. */
  async digest(id: string, { userId }: Pick<CommandIO, 'userId'>): Promise<string | null> {
    const kept = (await this.context.kv.get(keyOf(id, userId))) as { readonly digest?: string } | null;
    return kept?.digest ?? null;
  }

  /** Whoever decides on it later looks at it again. */
  async forget(id: string): Promise<void> {
    const { kv } = this.context;
    for (const key of await kv.keys(keyOf(id, ''))) await kv.delete(key);
  }
}

/** A slash ends the id, which is the name of a file. */
function keyOf(id: string, userId: string): string {
  return `shown:${id}/${userId}`;
}
