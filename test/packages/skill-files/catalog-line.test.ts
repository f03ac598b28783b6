import { describe, expect, it } from 'vitest';
import { catalogLine } from '@pith/skill-files';
import { leastCpu } from '../../waiting.ts';

const line = (description: string, limit: number, brief: string | null = null) =>
  catalogLine({ id: 'x', description, brief }, limit).slice('• `x` — '.length);

const NOTES = 'Write release notes from a list of merged changes';

describe('R11 the line of a skill', () => {
  it.each([
    [`${NOTES}. Use when someone asks for a changelog.`, 'Use when asked for a changelog.'],
    [`${NOTES}. Use this skill when a version is out.`, 'Use when a version is out.'],
    [`${NOTES}. Sorts them, too. This skill should be used when a version is out.`, 'Use when a version is out.'],
    [`${NOTES}. You MUST use this before a version goes out.`, 'Use before a version goes out.'],
    [`${NOTES}. Use for changelogs.`, 'Use for changelogs.'],
    [`${NOTES}. Use PROACTIVELY for changelogs.`, 'Use for changelogs.'],
    [`${NOTES}. Use ONLY when a version is out.`, 'Use ONLY when a version is out.'],
    [`${NOTES}. When to use: a version is out.`, 'When to use: a version is out.'],
    [`${NOTES}. When the user speaks of a version.`, 'When the user speaks of a version.'],
    [`${NOTES}. Triggers on words such as changelog.`, 'Triggers on words such as changelog.'],
    [`${NOTES} (use when a version is out). It sorts them.`, 'Use when a version is out.'],
    [`${NOTES}, use when a version is out.`, 'Use when a version is out.'],
    [`${NOTES}: sort, cut, word\n\nUse when: a version is out`, 'Use when: a version is out'],
  ])('R11 finds when to use it in %j', (description, when) => {
    const long = description.replace(NOTES, `${NOTES} and of many other things that people say to each other about them, in any order`);
    const found = line(long, 110);
    expect(found).toMatch(/^Write release notes from a list of merged changes/);
    expect(found.toLowerCase().endsWith(when.toLowerCase())).toBe(true);
    expect([...found].length).toBeLessThanOrEqual(110);
  });

  it.each(['Tools used by many for sums', 'Do not use for sums', 'Re-use when cold', 'Explains when to use hooks', 'Use rdkit for atoms'])(
    'R11 does not take %j for it',
    (words) => {
      expect(line(`First sentence of it. ${words}. ${'And more words. '.repeat(8)}`, 100)).toMatch(
        /^First sentence of it\. .*(?:…|words\.)$/,
      );
    },
  );

  it('R11 shows a whole description, then its beginning and when to use it, each with half of the room, then what it does alone', () => {
    const when = `Use when ${'a reader waits for words '.repeat(8).trim()}.`;
    const description = `${NOTES}. ${'It sorts them well. '.repeat(6)}${when}`;
    expect(line(description, 500)).toBe(description);
    expect(line(description, 300)).toMatch(/^Write release notes .* It sorts them well\. .*… Use when a reader .*…$/);
    expect(line(description, 160)).toMatch(
      /^Write release notes from a list of merged changes\. It sorts them well\. .*… Use when a reader waits .*…$/,
    );
    expect(line(description, 80)).toBe('Write release notes from a list of merged… Use when a reader waits for words a…');
    expect(line(description, 40)).toBe('Write release notes from a list of…');
    expect(line(description, 100, 'Release notes')).toMatch(/^Release notes\. Use when a reader waits/);
    expect(line(description, 500, 'Release notes')).toBe(description);
    expect(line('Short.', 24, 'A brief description')).toBe('Short.');
  });

  it.each([
    ['Use when asked to split a bill among friends and strangers.', 'split a bill among friends…'],
    ['This skill should be used when working with cold lamps and warm ones.', 'working with cold lamps and…'],
    ['Use before any bill is split among friends and strangers.', 'Use before any bill is split…'],
  ])('R11 a short line of %j says what stands after "Use when"', (description, short) => {
    expect(line(description, 30)).toBe(short);
  });

  it('R11 a description that begins with when to use it has all the room for that', () => {
    expect(line(`This skill should be used when ${'a reader waits '.repeat(20)}`, 60)).toBe(
      'Use when a reader waits a reader waits a reader waits a…',
    );
  });

  it('R11 is within its limit, one harmless line, and quick, whatever the description is', async () => {
    const pieces = [
      'Use when ',
      'use this skill for ',
      '(',
      ') ',
      '. ',
      '🦀',
      '\u202e',
      '\n',
      'e.g. ',
      'When to use: ',
      '—',
      'x'.repeat(50),
    ];
    for (let seed = 1; seed < 400; seed++) {
      let state = seed;
      const next = () => (state = (state * 48_271) % 2_147_483_647);
      const description = Array.from({ length: next() % 40 }, () => pieces[next() % pieces.length]).join('');
      for (const limit of [350, 161, 160, 80, 60, 59, 40, 20, 1]) {
        const found = line(description, limit);
        expect([...found].length, JSON.stringify([description, limit])).toBeLessThanOrEqual(limit);
        expect(found).not.toMatch(/[\n\u202e]/);
      }
    }
    for (const piece of pieces) expect(await leastCpu(() => line(piece.repeat(16_384 / piece.length), 160), 100)).toBeLessThan(100);
  });
});
