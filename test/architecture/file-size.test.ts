import { describe, expect, it } from 'vitest';
import { filesBelow, read } from './repository.ts';

const lines = (file: string) => read(file).trimEnd().split('\n').length;
const tooLong = (files: readonly string[], most: number) =>
  files
    .map((file) => [file, lines(file)] as const)
    .filter(([, count]) => count > most)
    .map(([file, count]) => `${file}: ${count} lines`);

const SOURCES = ['core', 'sandbox/extensions', 'scripts', 'bin'].flatMap((folder) => filesBelow(folder, '.ts', '.mjs', ''));

describe('file size', () => {
  it('a source file has at most 250 lines; mend by giving one of its concepts a file of its own', () => {
    expect(SOURCES.length).toBeGreaterThan(100);
    expect(tooLong(SOURCES, 250)).toEqual([]);
  });

  it('a test file has at most 400 lines; mend by giving one behaviour a file of its own', () => {
    expect(tooLong(filesBelow('test', '.ts'), 400)).toEqual([]);
  });

  it('half of the source files have fewer than 120 lines', () => {
    const counts = SOURCES.map(lines).sort((a, b) => a - b);
    expect(counts[Math.floor(counts.length / 2)]).toBeLessThan(120);
  });

  it('no file is named for nothing: utils, helpers, manager', () => {
    expect(
      [...SOURCES, ...filesBelow('test', '.ts')].filter((file) => /(?:^|[-/])(?:utils?|helpers?|managers?)(?:[-./]|$)/.test(file)),
    ).toEqual([]);
  });
});
