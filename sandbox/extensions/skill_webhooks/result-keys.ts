import { randomBytes } from 'node:crypto';
import { newSigningKey } from './signature.ts';
import type { WebhookTables } from './tables.ts';

/** The key of each skill that signs its results. It signs nothing else, and requests cannot be signed with it. */
export class ResultKeys {
  constructor(private readonly tables: WebhookTables) {}

  /** Made on first use: until a person renews it, no receiver has it to check signatures with. */
  async of(skillId: string): Promise<string> {
    const tables = await this.tables();
    const find = () => tables.first((db) => db.selectFrom('skill_webhooks__keys').select('signing_key').where('skill_id', '=', skillId));
    const known = await find();
    if (known !== null) return known.signing_key;
    const signing_key = newSigningKey(randomBytes(32));
    await tables.write((db) => [
      db
        .insertInto('skill_webhooks__keys')
        .values({ skill_id: skillId, signing_key })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    return (await find())?.signing_key ?? signing_key;
  }

  /** Replaces the key. */
  async renew(skillId: string): Promise<string> {
    const signing_key = newSigningKey(randomBytes(32));
    await (
      await this.tables()
    ).write((db) => [
      db
        .insertInto('skill_webhooks__keys')
        .values({ skill_id: skillId, signing_key })
        .onConflict((conflict) => conflict.column('skill_id').doUpdateSet({ signing_key })),
    ]);
    return signing_key;
  }
}
