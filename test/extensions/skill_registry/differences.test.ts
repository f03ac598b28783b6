import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

const PAGES = ['docs/adr/0014-the-registry-of-skills.md', 'docs/install-skills.md'];

/** The cells of each row of a page's tables with three columns. */
async function rowsOf(page: string): Promise<readonly (readonly string[])[]> {
  const lines = (await readFile(page, 'utf8')).split('\n').filter((line) => line.startsWith('|') && !line.startsWith('|--'));
  return lines.map((line) => line.split('|').slice(1, -1)).filter((cells) => cells.length === 3);
}

describe.each(PAGES)('S9 the differences from other systems in %s', (page) => {
  it.each([
    ['the id is the folder, not the name', /(?:directory|folder)'s name/],
    ['descriptions up to 1,024, over-long above 500', /1,024.*500/],
    ['skills before the prompt', /skill.*before/],
    ['the reviewer', /review/],
    ['the default of trust', /trusts them/],
  ])('S9 %s: here, there and why', async (_, here) => {
    const row = (await rowsOf(page)).find(([cell = '']) => here.test(cell));
    expect(row?.every((cell) => cell.trim() !== '')).toBe(true);
  });
});
