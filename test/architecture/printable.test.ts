import { describe, expect, it } from 'vitest';
import { filesBelow, places, read, withoutComments } from './repository.ts';

/** Escapes and classes of what a terminal obeys or nobody sees, in the source of an expression. */
const CLASS =
  /\\p\{C[cfos]?\}|\\P\{C|\\x(?:0[0-8]|1[0-9a-f]|7f|9[0-9a-f])|\\u00(?:0[0-8]|1[0-9a-f]|7f|9[0-9a-f])|\\u\{?20(?:0[b-f]|2[89a-e]|6)|\\u061c|\\ufeff/iu;

/** Those who do something else than make text printable. */
const ALLOWED: readonly (readonly [file: RegExp, why: string])[] = [
  [/^packages\/plain-text\/printable\.ts$/, 'is the one function'],
  [/^packages\/safe-files\/runs-later\.ts$/, 'compares names of files as systems do'],
  [
    /^(?:core\/kernel\/discovery\/\w[\w-]*|sandbox\/extensions\/skill_scripts\/toolsets\/module-place)\.ts$/,
    'counts cells, or refuses a byte order mark or a character in a file',
  ],
  [/^packages\/plain-text\/terminal-text\.ts$/, 'counts cells'],
  [/^packages\/line-editor\/[\w-]+\.ts$/, "is the terminal's own: keys, lines, cells"],
  [/^sandbox\/extensions\/cli_channel\/(?:terminal|attention)\.ts$/, 'takes a line away, knows where a sequence is cut, or rings the bell'],
  [/^sandbox\/extensions\/recipes\/recipe-file\.ts$/, 'reads a file format'],
  [/^packages\/safe-files\/jail\.ts$/, 'refuses paths'],
  [
    /^(?:packages\/skill-files\/format|sandbox\/extensions\/skill_install\/safety)\//,
    'reads a file format, or looks for hidden characters in skills',
  ],
  [/^packages\/(?:safe-files\/text-files|image-header\/index)\.ts$/, 'knows files by their first bytes'],
  [
    /^sandbox\/extensions\/skill_install\/install\/(?:entry|origin|git-origin)\.ts$/,
    'compares names, refuses addresses, splits what git prints',
  ],
  [/^core\/embed\/checked-arguments\.ts$/, 'refuses ids'],
  [/^core\/testing\/thread-log-cases\.ts$/, 'has texts that are hard to keep'],
  [/^sandbox\/extensions\/web\/page\.ts$/, 'leaves out the hyphens and breaks that pages only hint at'],
  [/^sandbox\/extensions\/skill_search\/learning\/example-recorder\.ts$/, 'reads a text as if it were seen, to find what is private in it'],
];

describe('T19: one function makes text printable', () => {
  const sources = ['core', 'packages', 'sandbox/extensions'].flatMap((folder) => filesBelow(folder, '.ts'));
  const found = sources.flatMap((file) => places(file, withoutComments(read(file)), CLASS));

  it('T19: nobody else has a class of control or unseen characters', () => {
    expect(found.filter((place) => !ALLOWED.some(([file]) => file.test(place.replace(/:\d+$/u, ''))))).toEqual([]);
  });

  it('T19: each exception is needed', () => {
    const needed = ALLOWED.filter(([file]) => found.some((place) => file.test(place.replace(/:\d+$/u, ''))));
    expect(ALLOWED.filter((each) => !needed.includes(each)).map(([file]) => file.source)).toEqual([]);
  });
});
