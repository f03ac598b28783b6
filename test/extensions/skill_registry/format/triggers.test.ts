import { describe, expect, it } from 'vitest';
import { parseSkillFile } from '@pith/skill-files';
import { skillSandbox, skillText } from '../skill-sandbox.ts';
import { leastCpu } from '../../../waiting.ts';

async function parse(more: string, mode: 'lint' | 'load' = 'load') {
  const { valid, fields, diagnostics } = await parseSkillFile(skillText({ more }), { id: 'demo', file: '/x/demo/SKILL.md', mode });
  return {
    valid,
    triggers: fields.triggers,
    found: diagnostics
      .filter(({ code }) => code !== 'flow_style' && code !== 'field_unknown')
      .map(({ code, severity, line, column }) => [code, severity, line, column]),
    messages: diagnostics.map(({ message }) => message).join('\n'),
  };
}

describe('S2 the field triggers', () => {
  it('is read as text, in lists or as a comma string, and is null where there is none', async () => {
    const text = "triggers:\n  keywords:\n    - PDF\n    - 1.0\n    - true\n  verbs: [extract, copy]\n  patterns:\n    - 'page \\d+'\n";
    expect((await parse(text)).triggers).toEqual({
      keywords: ['PDF', '1.0', 'true'],
      verbs: ['extract', 'copy'],
      patterns: ['page \\d+'],
    });
    for (const none of ['', 'triggers:\n', 'triggers: {}\n', 'triggers: { keywords: [] }\n', 'triggers: word\n'])
      expect((await parse(none)).triggers, none).toBeNull();
  });

  it('says what it cannot use, and uses the rest', async () => {
    const odd = await parse('triggers: { keywords: "pdf, forms", verbs: { a: b }, keyword: [x] }\n');
    expect(odd).toMatchObject({ valid: true, triggers: { keywords: ['pdf', 'forms'], verbs: [], patterns: [] } });
    expect(odd.found).toEqual([
      ['field_type', 'warning', 4, 1],
      ['field_type', 'warning', 4, 1],
      ['triggers_unknown', 'warning', 4, 1],
    ]);
    expect(odd.messages).toMatch(/'keywords'[^]*'verbs'[^]*keyword/);
    expect((await parse('triggers: [pdf]\n')).found).toEqual([['field_type', 'warning', 4, 1]]);
    expect((await parse('triggers: { keyword: [x] }\n', 'lint')).valid).toBe(false);
  });
});

describe('S63 patterns that RE2 does not take', () => {
  const bad = [
    "triggers:\n  patterns:\n    - 'page \\d+'\n    - '(?=x)y'\n",
    'triggers:\n  keywords: [a]\n  patterns:\n    - "page"\n    - "(?=\\\\d)y"\n',
    "triggers: { patterns: ['page', '(a'] }\n",
    'triggers:\n  patterns:\n    - page\n    - >-\n      (a\n      b\n',
  ];
  it.each([
    [bad[0]!, 7, 8, ['page \\d+']],
    [bad[1]!, 8, 8, ['page']],
    [bad[2]!, 4, 33, ['page']],
    [bad[3]!, 5, 3, ['page']],
  ])('%j: a warning with its place, and it is dropped', async (text, line, column, left) => {
    const { valid, triggers, found, messages } = await parse(text);
    expect(valid).toBe(true);
    expect(triggers?.patterns).toEqual(left);
    expect(found).toEqual([['pattern_invalid', 'warning', line, column]]);
    expect(messages).toMatch(/which is left out: (?:invalid|missing)/);
    expect(await parse(text, 'lint')).toMatchObject({ valid: false, found: [['pattern_invalid', 'error', line, column]] });
  });

  it('are told by a scan, once, also after a restart', async () => {
    const box = await skillSandbox({
      'sandbox/skills/a/SKILL.md': skillText({ name: 'a', more: bad[0]! }),
      'sandbox/skills/b/SKILL.md': skillText({ name: 'b', more: 'triggers: { keywords: [x] }\n' }),
    });
    for (let start = 0; start < 2; start++) {
      const registry = box.registry();
      const { skills } = await registry.refresh();
      expect(skills.get('a')).toMatchObject({
        state: 'offered',
        triggers: { patterns: ['page \\d+'] },
        diagnostics: [{ code: 'pattern_invalid' }],
      });
      expect(skills.get('b')).toMatchObject({ triggers: { keywords: ['x'], verbs: [], patterns: [] }, diagnostics: [] });
      await registry.close();
    }
  });

  it('a pattern of immense cost is refused before it is compiled', async () => {
    const text = `triggers:\n  patterns:\n    - '${'(a{999}|'.repeat(200)}'\n    - '${'((a{100}){100}){100}'}'\n`;
    expect(await leastCpu(() => parse(text), 1000)).toBeLessThan(1000);
    const { triggers, found } = await parse(text);
    expect(triggers?.patterns).toEqual([]);
    expect(found.map(([code]) => code)).toEqual(['pattern_invalid', 'pattern_invalid']);
  });
});
