import { describe, expect, it } from 'vitest';
import { databaseFailure, isBusy } from '../../../core/store/index.ts';

describe('what a driver throws without a code', () => {
  it('R3 is told by its words: a lock is tried again, a torn file is rebuilt', () => {
    expect(isBusy(new Error('database is locked'))).toBe(true);
    expect(isBusy(Object.assign(new Error('any words'), { errcode: 5 | (1 << 8) }))).toBe(true);
    expect(isBusy(new Error('no such table: database is locked'))).toBe(false);
    expect(databaseFailure(new Error('database is locked'), '/a.db')).toMatchObject({ code: 'database_failed', retryable: true });
  });
});
