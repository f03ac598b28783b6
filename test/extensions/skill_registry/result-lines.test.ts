import type { JsonValue, ToolResult } from 'pith';
import { describe, expect, it } from 'vitest';
import { presentsSkill } from '../../../sandbox/extensions/skill_registry/reading/results.ts';

const metadata = { skill_id: 'alpha', skill_name: 'Alpha', directory: '/skills/alpha' };
const loaded = (tool: string) => presentsSkill(tool, [], (id) => `Skill ${id} loaded`);
const resource = (tool: string) => presentsSkill(tool, ['path'], (id, { path }) => `Resource ${path} of ${id} read`);
const done = (more: JsonValue): ToolResult => ({ ok: true, output: '', metadata: more });

describe('the line of a result', () => {
  it('S91 says which skill was loaded and which resource read', () => {
    expect(loaded('read_skill')(done(metadata))).toBe('Skill alpha loaded');
    expect(resource('read_skill_resource')(done({ ...metadata, path: 'references/a.md' }))).toBe('Resource references/a.md of alpha read');
  });

  it('S91 says an error by its message, and never throws: bad metadata is named with its tool', () => {
    for (const [name, make] of Object.entries({ loaded, resource })) {
      const present = make('some_tool');
      expect(present({ ok: false, error: { code: 'x', message: 'it broke' } }), name).toBe('Error: it broke');
      const { directory: _left, ...partial } = metadata;
      const bad: unknown[] = [undefined, null, [], 'text', 7, partial, { ...metadata, skill_id: 3 }, { ...metadata, skill_name: '' }];
      for (const value of bad) expect(present(done(value as JsonValue)), name).toBe('Error: invalid metadata for some_tool');
      for (const result of [null, undefined, 'text', {}, { ok: false }, { ok: false, error: {} }])
        expect(present(result as unknown as ToolResult), name).toBe('Error: invalid metadata for some_tool');
    }
    expect(resource('t')(done(metadata))).toBe('Error: invalid metadata for t');
  });

  it('S91 nothing of a name moves the cursor or makes a second line', () => {
    expect(loaded('t')(done({ ...metadata, skill_id: 'al\u001b[2Jpha\nbeta' }))).toBe('Skill al\\x1b[2Jpha\\nbeta loaded');
  });
});
