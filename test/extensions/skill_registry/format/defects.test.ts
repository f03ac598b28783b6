import { readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lintSkill, parseSkillFile } from '@pith/skill-files';
import type { Skill } from '../../../../sandbox/extensions/skill_registry/skill.ts';
import { skillSandbox, skillText } from '../skill-sandbox.ts';
import { bodyOf } from './body-of.ts';
import { DEFECTS } from './defects.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../fixtures/skills');
const TOLERANT: readonly string[] = ['warning', 'info', ''];

describe('a folder for each defect', () => {
  /** As a kernel finds them, all in one source. */
  const found = new Map<string, Skill>();
  beforeEach(async () => {
    if (found.size > 0) return;
    const { registry } = await skillSandbox();
    const opened = registry({ config: { sources: [ROOT] } });
    await opened.refresh();
    for (const skill of opened.current().all) found.set(skill.id, skill);
  });

  it('S6 none of them hides another, and each has its line in the table', () => {
    const folders = readdirSync(ROOT).sort();
    expect(folders).toEqual([...DEFECTS.map(([folder]) => folder), 'file-is-a-folder'].sort());
    expect([...found.keys()].sort()).toEqual(folders.filter((folder) => folder !== 'file-is-a-folder'));
  });

  it.each(DEFECTS.map((row) => ({ folder: row[0], state: row[1], row })))('S3 S4 S5 S6 S9 $folder is $state', async ({ row }) => {
    const [folder, state, lint, cure, load] = row;
    const linted = await lintSkill(folder, ROOT);
    expect(linted.diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`)).toEqual(lint);
    expect(linted.valid).toBe(lint.every((line) => TOLERANT.includes(line.split(' ', 1)[0] ?? '')));
    const skill = found.get(folder);
    expect(skill?.state).toBe(state);
    const places = skill?.diagnostics.map(({ code, line, column }) => `${code} ${line}:${column}`);
    expect(places).toEqual(load ?? lint.map((line) => line.slice(line.indexOf(' ') + 1)));
    const worst = skill?.diagnostics.some(({ severity }) => severity === 'error');
    expect(worst).toBe(state === 'invalid');
    expect(linted.diagnostics[0]?.cure ?? '').toBe(cure);
    for (const { file, cure: each, message } of [...linted.diagnostics, ...(skill?.diagnostics ?? [])]) {
      expect(path.dirname(file ?? '')).toBe(path.join(ROOT, folder));
      expect([each, message].every((text) => (text ?? '').length > 4)).toBe(true);
    }
  });

  it('S1 S81 a folder named SKILL.md is no skill file, and a file no folder of a skill', async () => {
    expect(await lintSkill('file-is-a-folder', ROOT)).toMatchObject({ valid: false, diagnostics: [{ code: 'skill_file_missing' }] });
    expect(await lintSkill('defects.ts', import.meta.dirname)).toMatchObject({
      valid: false,
      diagnostics: [{ code: 'path_no_directory' }],
    });
  });

  it('S4 what is repaired is what was meant', () => {
    const description = (folder: string) => found.get(folder)?.description;
    expect(description('colon-not-quoted')).toBe('Use when: someone asks how long a file is.');
    expect(description('text-after-quotes')).toBe('"Counting" and "lines".');
    expect(description('anchor-of-nothing')).toBe('&lines are counted.');
    expect(description('all-repairs-at-once')).toBe('Use when: someone counts.');
    expect(found.get('all-repairs-at-once')).toMatchObject({ version: '1.0', extra: { metadata: { author: '@me' } } });
    expect(found.get('name-is-a-number')?.name).toBe('123');
    expect(found.get('none-tags')?.extra).toEqual({ metadata: { when: '2001-01-01', octal: '010', answer: 'yes' } });
    expect(found.get('none-comments-and-anchors')?.extra).toEqual({ metadata: { again: 'Counts lines.' } });
  });
});

describe('repairs', () => {
  const load = (text: string) => parseSkillFile(text, { id: 'demo', file: '/demo/SKILL.md', mode: 'load' });

  it.each([...'[]{},#&*!|>\'"%@`?-:~=$^'])('S4 a value that begins with %s is taken as it is written', async (first) => {
    for (const description of [`${first}one two`, `${first} one two`]) {
      const { valid, fields, diagnostics } = await load(skillText({ description }));
      expect([valid, fields.description]).toEqual([true, description]);
      for (const { code, line, column } of diagnostics) expect([code, line, column]).toEqual(['repaired_quote', 3, 14]);
    }
  });

  it('S4 every pair of repairs works together, each with its own place', async () => {
    const repairs: readonly [code: string, mend: (text: string) => string][] = [
      ['repaired_bom', (text) => `\uFEFF${text}`],
      ['repaired_crlf', (text) => text.replaceAll('\n', '\r\n')],
      ['repaired_leading_blank', (text) => `\n\n${text}`],
      ['repaired_comment', (text) => `<!-- Copyright\n--- \n-->\n\n<!-- made by a program -->\n${text}`],
      ['repaired_directive', (text) => text.replace('---\n', '---\n%YAML 1.1\n')],
      ['repaired_tab', (text) => text.replace('  author', '\tauthor')],
      ['repaired_quote', (text) => text.replace('Does', 'Use: does')],
    ];
    // A byte order mark and line ends come last: the others look for the text.
    const order = ['repaired_leading_blank', 'repaired_bom', 'repaired_crlf'];
    const plain = skillText({ more: 'metadata:\n  author: me\n', body: 'One.\n\nTwo.\n' });
    for (const one of repairs) {
      for (const other of repairs) {
        if (one === other) continue;
        const both = [one, other].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
        const text = both.reduce((mended, [, mend]) => mend(mended), plain);
        const { valid, fields, diagnostics } = await load(text);
        const which = both.map(([code]) => code).join(' ');
        expect([which, valid, fields.extra]).toEqual([which, true, { metadata: { author: 'me' } }]);
        expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(both.map(([code]) => code)));
        const lines = text.replace('\uFEFF', '').split(/\r?\n/);
        const wrong = diagnostics.filter(({ code, line = 0, column = 0 }) => PLACES[code]?.(lines[line - 1] ?? '', column - 1) === false);
        expect(wrong).toEqual([]);
        expect(bodyOf(text).replaceAll('\r', '')).toBe('One.\n\nTwo.\n');
      }
    }
  });
});

/** Whether a finding stands where it should, by code: the line it names, and the column from 0. */
const PLACES: Readonly<Record<string, (line: string, at: number) => boolean>> = {
  repaired_directive: (line) => line === '%YAML 1.1',
  repaired_tab: (line, at) => line[at] === '\t',
  repaired_quote: (line, at) => line.slice(at).startsWith('Use: does'),
};
