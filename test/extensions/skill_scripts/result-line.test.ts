import type { JsonValue, ToolResult } from 'pith';
import { expect, it } from 'vitest';
import { presentScript } from '../../../sandbox/extensions/skill_scripts/scripts/results.ts';

const metadata = { skill_id: 'alpha', skill_name: 'Alpha', directory: '/skills/alpha', path: 'scripts/a.py' };
const done = (more: JsonValue): ToolResult => ({ ok: true, output: '', metadata: more });

it('S91 the line of a script says how it ended, an error by its message, and never throws', () => {
  expect(presentScript(done({ ...metadata, exit: 0 }))).toBe('Script scripts/a.py of alpha: exit 0');
  expect(presentScript(done({ ...metadata, exit: 137 }))).toBe('Script scripts/a.py of alpha: exit 137');
  expect(presentScript(done({ ...metadata, exit: null }))).toBe('Script scripts/a.py of alpha: exit none');
  expect(presentScript({ ok: false, error: { code: 'x', message: 'it broke' } })).toBe('Error: it broke');
  const { directory: _left, ...partial } = metadata;
  const wrong: unknown[] = [undefined, null, [], 'text', 7, { ...partial, exit: 0 }, { ...metadata, skill_id: 3, exit: 0 }];
  for (const value of [...wrong, { ...metadata, exit: 'zero' }, { ...metadata, skill_name: '', exit: 0 }])
    expect(presentScript(done(value as JsonValue))).toBe('Error: invalid metadata for run_skill_script');
  for (const result of [null, undefined, 'text', {}, { ok: false }, { ok: false, error: {} }])
    expect(presentScript(result as unknown as ToolResult)).toBe('Error: invalid metadata for run_skill_script');
});
