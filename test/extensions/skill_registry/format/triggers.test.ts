import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSkillFile } from '@pith/skill-files';
import { skillSandbox, skillText } from '../skill-sandbox.ts';
import { leastCpu, leastCost } from '../../../waiting.ts';
import { words } from '../../../words.ts';

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
    expect((await parse(text)).triggers).toEqual({ keywords: ['PDF', '1.0', 'true'], verbs: ['extract', 'copy'], patterns: ['page \\d+'] });
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

  const listed = (patterns: readonly string[]) =>
    `triggers:\n  patterns:\n${patterns.map((one) => `    - ${JSON.stringify(one)}\n`).join('')}`;
  const counted = (count: number) => listed(Array.from({ length: count }, (_, at) => `[^a]{1,1000}[^b]{1,1000}Q${at}`));

  it('each that is too large is told of, and those beyond the most of a skill together, with a usable rest', async () => {
    const { valid, triggers, found, messages } = await parse(listed(['page \\d+', '[^a]{1,1000}b', '[B-\\x{1e942}]']));
    expect([valid, triggers?.patterns]).toEqual([true, ['page \\d+']]);
    expect(found.map(([code, , line]) => [code, line])).toEqual([
      ['pattern_invalid', 7],
      ['pattern_invalid', 8],
    ]);
    expect(messages).toMatch(/it is too large: of its parts, each counted as often as it may occur/);
    const many = await parse(listed(Array.from({ length: 200 }, (_, at) => `.{0,20}item ${at}`)));
    expect(many.triggers!.patterns.length).toBeGreaterThan(20);
    expect(many.found).toHaveLength(1);
    expect(many.messages).toMatch(/patterns of one skill are too large together; of 200 the last \d+ are too many/);
  });

  it.each([
    '\\btranslate\\w* .{0,40}item 1\\b',
    'deploy.{0,100}prod',
    '[一-龥]{2,10}合同',
    '(?:[\\p{L}\\s]{1,60}|\\d{4}-\\d{2}-\\d{2})x',
    '\\Q{1,1000}\\E',
  ])('%s is of a usable size', async (pattern) => {
    expect((await parse(listed([pattern]))).triggers?.patterns).toEqual([pattern]);
  });

  const HELD_MS = 50;

  it('S5 forty skills with 300 patterns of immense size are read without holding the event loop', async () => {
    const folders = Array.from({ length: 40 }, (_, at) => [
      `sandbox/skills/s-${at}/SKILL.md`,
      skillText({ name: `s-${at}`, more: counted(300) }),
    ]);
    const box = await skillSandbox(Object.fromEntries(folders) as Record<string, string>);
    const read = async () => {
      const registry = box.registry();
      const { skills } = await registry.refresh();
      expect(skills.get('s-7')?.triggers).toMatchObject({ patterns: [] });
      await registry.close();
    };
    const { heldMs, allMs } = await leastCost(read, { heldMs: HELD_MS, allMs: 1500 });
    expect(heldMs).toBeLessThan(HELD_MS);
    expect(allMs).toBeLessThan(1500);
  });

  it('S5 16 KiB of any patterns are read in time', async () => {
    const atom = fc.constantFrom(...words(String.raw`a . \w \pL [^a] [a-z] [B-\x{1e942}] [B-𞥂一-龥] [\pL\pN] (a|b) (|a) \b \Qa)\E ( ) ﷺ`));
    const count = fc.constantFrom('', '', '*', '+', '?', '{3}', '{2,}', '{1,30}', '{0,200}', '{1000}');
    const part = fc.tuple(atom, count).map((both) => both.join(''));
    const pattern = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 6 }), fc.constantFrom(1, 1, 5, 200), count)
      .map(([parts, times, outer]) =>
        (outer === '' ? parts.join('').repeat(times) : `(?:${parts.join('').repeat(times)})${outer}`).slice(0, 900),
      );
    const whole = fc.array(pattern, { minLength: 1, maxLength: 4 }).map((some) => {
      const all: string[] = [];
      for (let at = 0, length = 0; length < 13_000; at++) length += all[all.push(`${some[at % some.length]!}${at}`) - 1]!.length + 12;
      return listed(all);
    });
    await parse(counted(3));
    await fc.assert(
      fc.asyncProperty(whole, async (text) => {
        expect(await leastCpu(() => parse(text), HELD_MS)).toBeLessThan(HELD_MS);
      }),
      { numRuns: 60 },
    );
  });
});
