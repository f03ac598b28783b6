import { expect, it } from 'vitest';
import { scanText } from '../../../sandbox/extensions/skill_registry/safety/inspection.ts';

it('S84 finds what YAML escapes hide in the frontmatter, and a name that mixes scripts', () => {
  const codes = (text: string) => scanText('SKILL.md', text).map(({ code, line }) => `${code} ${line}`);
  expect(codes('---\nname: a\ndescription: "x\\u202ey \\n z"\n---\nBody\n')).toEqual(['text_direction 3']);
  expect(codes('---\ndescription: d\nname: \u0441opy\n---\nBody\n')).toEqual(['look_alike 3']);
  expect(codes('---\nname: \u043a\u043e\u043f\u0438\u044f\ndescription: "caf\\u00e9"\n---\nWrite \\u202e.\n')).toEqual([]);
});
