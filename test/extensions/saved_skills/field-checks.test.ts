import { PithError } from 'pith';
import { expect, it } from 'vitest';
import { databaseFailure } from '../../../core/store/index.ts';
import { FieldChecks } from '../../../sandbox/extensions/saved_skills/library/field-checks.ts';

const busy = databaseFailure(Object.assign(new Error('database is locked'), { errcode: 5 }), '/data/pith.db');
const damaged = databaseFailure(Object.assign(new Error('database disk image is malformed'), { errcode: 11 }), '/data/pith.db');

it.each([
  ['a busy database', busy],
  ['a damaged one', damaged],
  ['what may be tried again', new PithError('limit_reached', 'too many at once', { retryable: true })],
  ['a fault of the check itself', new TypeError('x is not a function')],
])('W21 %s is no refusal of a field: it is thrown as it is', async (_what, error) => {
  const checks = new FieldChecks();
  await expect(checks.of(['tools'], [], () => Promise.reject(error))).rejects.toBe(error);
  expect([checks.isRefused('tools'), checks.settle()]).toEqual([false, undefined]);
});

it('W21 what a check refuses is said of its field, with all others, once everything was checked', async () => {
  const checks = new FieldChecks();
  const refuse = (code: string) => () => {
    throw new PithError(code, `${code} is wrong`);
  };
  expect(await checks.of(['tools'], 'kept', refuse('tool_unknown'))).toBe('kept');
  await checks.of(['schedule'], undefined, refuse('schedule_invalid'));
  expect(['tools', 'schedule', 'lane'].map((field) => checks.isRefused(field))).toEqual([true, true, false]);
  expect(() => checks.settle()).toThrow(
    expect.objectContaining({
      code: 'tool_unknown',
      message: 'tool_unknown is wrong; schedule_invalid is wrong',
      problems: [
        { path: ['tools'], message: 'tool_unknown is wrong' },
        { path: ['schedule'], message: 'schedule_invalid is wrong' },
      ],
    }),
  );
});
