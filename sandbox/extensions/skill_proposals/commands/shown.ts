import type { CommandIO } from 'pith';
import type { Context } from '../config.ts';

/** What people were shown last of each proposal: without a terminal, they approve that and nothing else. */
export class Shown {
  constructor(private readonly context: Context) {}

  async keep(id: string, digest: string, { userId }: Pick<CommandIO, 'userId'>): Promise<void> {
    await this.context.kv.set(this.#key(id), { digest, userId, at: this.context.clock.now() });
  }

  /** null: nobody has looked at it. */
  async digest(id: string): Promise<string | null> {
    const kept = (await this.context.kv.get(this.#key(id))) as { readonly digest?: string } | null;
    return kept?.digest ?? null;
  }

  async forget(id: string): Promise<void> {
    await this.context.kv.delete(this.#key(id));
  }

  #key(id: string): string {
    return `shown:${id}`;
  }
}
