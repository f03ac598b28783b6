import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PatternCache } from '../../../sandbox/extensions/skill_triggers/pattern-cache.ts';
import { TriggerIndex, verbForms, type TriggerMatch } from '../../../sandbox/extensions/skill_triggers/trigger-index.ts';
import type { SkillRecord as Skill } from 'pith/skill_registry';
import { skillOf, recordsOf } from '../skill_registry/skill-values.ts';
import { leastCpu, leastCost } from '../../waiting.ts';

const triggers = (values: Partial<NonNullable<Skill['triggers']>>) => ({ triggers: { keywords: [], verbs: [], patterns: [], ...values } });

async function matchesOf(skills: readonly Skill[], message: string): Promise<readonly TriggerMatch[]> {
  const index = await TriggerIndex.of(recordsOf(skills), new PatternCache());
  return index.match(message, () => true);
}

async function brings(values: Partial<NonNullable<Skill['triggers']>>, message: string): Promise<boolean> {
  return (await matchesOf([skillOf('zz-skill', triggers(values))], message)).length > 0;
}

describe('S63 keywords', () => {
  it.each([
    ['pdf', 'Read this PDF.', true],
    ['PDF', 'read this pdf', true],
    ['pdf', 'ＰＤＦを読んで', true], // NFKC
    ['pdf', 'pdfs', false],
    ['pdf', 'report.pdf, please', true],
    ['pdf', 'my_pdf_file', false],
    ['pdf', '(pdf)', true],
    ['pdf', 'PDF-based', true],
    ['java', 'javascript', false],
    ['c++', 'How do I do this in C++?', true],
    ['c++', 'c++17 code', true],
    ['c++', 'c+++', false],
    ['c', 'C++ and C#', false],
    ['c', 'plain C, please', true],
    ['c#', 'is C# fine', true],
    ['pdf', 'pdf+docx', true],
    ['.net', 'a .NET library', true],
    ['.net', 'see example.net', false],
    ['net', 'a .net library', true],
    ['node.js', 'Node.js?', true],
    ['node.js', 'node.jsx', false],
    ['node.js', 'node-js', false],
    ['fill in the form', 'Fill  in\nthe form now', true],
    ['fill in the form', 'fill in the forms', false],
    ['合同审查', '请帮我做合同审查吧', true],
    ['PDF文件', '请把PDF文件打开', true],
    ['pdf', '请把PDF文件打开', true],
    ['テスト', 'ﾃｽﾄを書いて', true],
    ['계약서', '이 계약서를 검토해 줘', true],
    ['서', '이 계약서를 검토해 줘', false],
    ['สัญญา', 'ช่วยตรวจสัญญานี้', true],
    ['straße', 'DIE STRASSE', true],
    ['λογος', 'ΛΟΓΟΣ', true],
    ['résumé', 're\u0301sume\u0301 lesen', true],
    ['resume', 'résumé lesen', false],
    ['naïve', 'NAÏVE approach', true],
    ['🐛', 'a 🐛!', true],
    ["don't", 'I don’t know', true],
    ['   ', 'anything', false],
    ['__proto__', 'what is __proto__?', true],
    ['constructor', 'the constructor', true],
  ])('%j in %j: %s', async (keyword, message, expected) => {
    expect(await brings({ keywords: [keyword] }, message)).toBe(expected);
  });
});

describe('S63 verbs', () => {
  it.each([
    ['extract', 'extract extracts extracted extracting'],
    ['write', 'write writes writing'],
    ['copy', 'copy copies copied copying'],
    ['play', 'play plays played playing'],
    ['plan', 'plan plans planned planning'],
    ['edit', 'edit edits edited editing'],
    ['commit', 'commit commits committed committing'],
    ['fix', 'fix fixes fixed fixing'],
    ['pass', 'pass passes passed passing'],
    ['search', 'search searches searched searching'],
    ['agree', 'agree agrees agreed agreeing'],
    ['tie', 'tie ties tied tying'],
    ['quiz', 'quiz quizzes quizzed quizzing'],
    ['label', 'label labels labeled labelled labeling labelling'],
    ['show', 'show shows showed showing'],
    ['re-run', 're-run re-runs re-running'],
  ])('%s has its regular forms', (verb, forms) => {
    expect(verbForms(verb)).toEqual(expect.arrayContaining(forms.split(' ')));
  });

  it.each([
    ['extract', 'Extracting text', true],
    ['extract', 'an extraction', false],
    ['extract', 'the extractor', false],
    ['plan', 'planing wood', false],
    ['write', 'it was written', false],
    ['fill out', 'He filled out the form', true],
    ['fill out', 'fill it out', false],
    ['审查', '请审查合同', true],
  ])('%j in %j: %s', async (verb, message, expected) => {
    expect(await brings({ verbs: [verb] }, message)).toBe(expected);
  });
});

describe('S63 patterns', () => {
  it.each([
    ['page \\d+', 'On PAGE 12', true],
    ['^translate\\b', 'Translate this', true],
    ['^translate\\b', 'please translate this', false],
    ['\\p{Han}{2}', '合同', true],
    ['ｐｄｆ', 'pdf', true],
    ['(a', 'a', false], // never compiled, so never there
    ['(?=a)a', 'a', false],
  ])('%j in %j: %s', async (pattern, message, expected) => {
    expect(await brings({ patterns: [pattern] }, message)).toBe(expected);
  });

  it('take time linear in the text, whatever they are', async () => {
    const nasty = ['(a+)+$', '(a|aa)+b', '(.*)*c', '(x+x+)+y', '[ab]*a[ab]{200}z', '(a?){40}a{40}b'];
    const skills = nasty.map((pattern, at) => skillOf(`s-${at}`, triggers({ patterns: [pattern] })));
    const index = await TriggerIndex.of(recordsOf(skills), new PatternCache());
    const match = async () => {
      await index.match(`${'a'.repeat(200_000)}!`, () => true);
      await index.match('ab'.repeat(100_000), () => true);
    };
    expect(await leastCpu(match, 2000)).toBeLessThan(2000);
  });
});

describe('S63 patterns of any size', () => {
  let state = 1;
  const long = Array.from({ length: 7500 }, () => 'cdefgh xyz'[(state = (state * 48_271) % 2_147_483_647) % 10]).join('');

  it.each([
    ['too large to be compiled', (at: number) => `[^a]{1,1000}[^b]{1,1000}Q${at}`],
    ['as large as may be', (at: number) => `[^a]{1,70}[^b]{1,70}Q${at}`],
    ['of many states', (at: number) => `[c-e]*c[c-h x-z]{240}Q${at}`],
  ])('%s: others work meanwhile', async (_name, pattern) => {
    const patterns = Array.from({ length: 30 }, (_, at) => pattern(at));
    const match = async () => {
      const index = await TriggerIndex.of(recordsOf([skillOf('one', triggers({ patterns }))]), new PatternCache());
      await index.match(long, () => true);
    };
    expect((await leastCost(match, { heldMs: 50, allMs: Infinity })).heldMs).toBeLessThan(50);
  });

  it('a large one reads the beginning and the end of a long message', async () => {
    expect(await brings({ patterns: ['deploy.{0,90}prod'] }, `deploy to prod ${'x '.repeat(4000)}`)).toBe(true);
    expect(await brings({ patterns: ['deploy.{0,90}prod'] }, `${'x '.repeat(4000)} deploy to prod`)).toBe(true);
  });
});

describe('S62 explicit mention', () => {
  const skills = [
    skillOf('pdf', { name: 'PDF Tool' }),
    skillOf('pdf-forms', triggers({ keywords: ['form'] })),
    skillOf('poems', { source: 'project' }),
    skillOf('poems', { source: 'user', state: 'shadowed', directory: '/user/poems' }),
  ];
  it.each([
    ['use pdf-forms', ['pdf-forms']],
    ['use `pdf-forms`.', ['pdf-forms']],
    ['/pdf-forms now', ['pdf-forms']],
    ['@pdf-forms: now', ['pdf-forms']],
    ['PDF-FORMS!', ['pdf-forms']],
    ['the "PDF tool", please', ['pdf']],
    ['this pdf', ['pdf']],
    ['see docs/pdf/a', []],
    ['run pdf.py', []],
    ['mail me@pdf', []],
    ['pdf-based', []],
    ['poems', ['poems']],
    ['project/poems', ['poems']],
    ['user/poems', ['user/poems']],
    ['`user/poems`', ['user/poems']],
    ['elsewhere/poems', []],
  ])('%j names %j', async (message, expected) => {
    const named = (await matchesOf(skills, message)).filter(({ mentioned }) => mentioned);
    expect(named.map(({ skill }) => (skill.state === 'shadowed' ? `${skill.source}/${skill.id}` : skill.id))).toEqual(expected);
  });
});

describe('S63 whatever the input', () => {
  it('nothing throws, and each trigger is found in itself', async () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(texts, { maxLength: 4 }),
        fc.array(texts, { maxLength: 4 }),
        fc.array(texts, { maxLength: 3 }),
        texts,
        async (keywords, verbs, patterns, text) => {
          const skills = [skillOf('one', triggers({ keywords, verbs, patterns })), skillOf(text || 'x', { name: text })];
          const index = await TriggerIndex.of(recordsOf(skills), new PatternCache());
          await index.match(text, () => true);
          for (const word of [...keywords, ...verbs].filter((one) => one.trim() !== '')) {
            const found = await index.match(word, () => true);
            expect(
              found.some(({ skill }) => skill.id === 'one'),
              JSON.stringify(word),
            ).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('a message of any length is looked through once', async () => {
    const skills = Array.from({ length: 1000 }, (_, at) =>
      skillOf(`azure-${at}`, triggers({ keywords: [`azure ${'x'.repeat(at % 50)}`] })),
    );
    const index = await TriggerIndex.of(recordsOf(skills), new PatternCache());
    const match = async () => expect(await index.match('azure '.repeat(500_000), () => true)).toHaveLength(20);
    expect(await leastCpu(match, 2000)).toBeLessThan(2000);
  });
});
