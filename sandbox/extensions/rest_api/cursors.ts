import { createHmac, randomBytes } from 'node:crypto';
import { printableLine } from '@pith/plain-text';
import { oncePromised } from '@pith/promises';
import { PithError } from 'pith';
import { type ApiTables, markOf } from './conversations/tables.ts';
import type { ApiRequest } from './route.ts';

type List = Pick<ApiRequest, 'route' | 'caller'>;

/** The places behind pages, as clients have them: one that was not given to this user for this list is refused. */
export class Cursors {
  readonly #key = oncePromised(() => markOf(this.tables, 'cursors', () => randomBytes(32).toString('hex')));

  constructor(private readonly tables: ApiTables) {}

  async of(list: List, place: string): Promise<string> {
    return `${Buffer.from(place).toString('base64url')}.${await this.#seal(list, place)}`;
  }

  /** Rejects `cursor_invalid`. */
  async placeIn(list: List, cursor: string): Promise<string> {
    const place = Buffer.from(cursor.slice(0, cursor.indexOf('.')), 'base64url').toString();
    if ((await this.of(list, place)) === cursor) return place;
    throw cursorInvalid(cursor);
  }

  async #seal({ route, caller }: List, place: string): Promise<string> {
    const sealed = JSON.stringify([route, caller.userId, place]);
    return createHmac('sha256', await this.#key())
      .update(sealed)
      .digest('base64url')
      .slice(0, 22);
  }
}

export function cursorInvalid(cursor: string): PithError {
  return new PithError('cursor_invalid', 'the cursor is not of this list', {
    cure: 'ask for the list from its beginning',
    problems: [{ path: ['cursor'], message: `is not of this list: ${printableLine(cursor, 80)}` }],
  });
}
