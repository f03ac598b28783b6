import { describe, expect, it } from 'vitest';
import { stripVTControlCharacters } from 'node:util';
import { MarkdownStream } from '../../../sandbox/extensions/cli_channel/markdown-stream.ts';

const SAMPLE = `# A **heading**

Some *text* with \`code\`, **bold**, a [link](https://example.org) and snake_case_names, 2 * 3 * 4.

- one
- two **bold** words
  1. nested
- [x] done

\`\`\`ts
const a = \`**not bold**\`;

  indented();
\`\`\`

| name | size |
|------|-----:|
| \`a\`  | 1 |
| long | 1000 |

> quoted
---
Last \\*line\\*`;

type P = (text: string) => string;

function render(text: string, { size = text.length, colour = false, columns = 80 } = {}): string {
  let out = '';
  const stream = new MarkdownStream((part) => (out += part), { colour, columns: () => columns });
  for (let at = 0; at < text.length; at += size) stream.feed(text.slice(at, at + size));
  stream.end();
  return out;
}

/** A colour that ends where it begins again is one. */
function merged(text: string): string {
  return text.replaceAll('\u001b[39m\u001b[36m', '');
}

describe('Markdown in a terminal', () => {
  it('shows headings, lists, code, tables, quotes and rules', () => {
    expect(render(SAMPLE)).toBe(`A heading

Some text with code, bold, a link (https://example.org) and snake_case_names, 2
* 3 * 4.

• one
• two bold words
  1. nested
☑ done

  ts
  const a = \`**not bold**\`;
  
    indented();

name  size
────  ────
a        1
long  1000

│ quoted
────────────────────────────────────────
Last *line*
`);
  });

  it.each([1, 2, 3, 7, 50])('shows the same however it arrives, %i characters at a time', (size) => {
    expect(render(SAMPLE, { size })).toBe(render(SAMPLE));
    expect(merged(render(SAMPLE, { size, colour: true }))).toBe(merged(render(SAMPLE, { colour: true })));
  });

  it('U23 colours code by its language, line by line as it comes, also within a comment; without colours and in other languages not', () => {
    const code = '```ts\n/* one\n   const two */ const x = "a&<b>"; // three\nlet y = `${x}`;\n```\n\n```nothing-7\nconst z\n```\n';
    const shown = render(code, { colour: true });
    const lines = shown.split('\n');
    const [grey, magenta, green, cyan] = [90, 35, 32, 36].map((colour) => (text: string) => `\u001b[${colour}m${text}\u001b[39m`) as [
      P,
      P,
      P,
      P,
    ];
    expect(lines[1]).toBe(`  ${grey('/* one')}`);
    expect(lines[2]).toContain(grey('   const two */'));
    expect(lines[2]).toContain(magenta('const'));
    expect(lines[2]).toContain(green('"a&<b>"'));
    expect(lines[3]).not.toContain('\u001b[90m');
    expect(lines.at(-2)).toBe(`  ${cyan('const z')}`);
    for (const size of [1, 5]) expect(merged(render(code, { colour: true, size }))).toBe(merged(shown));
    expect(render(code)).not.toContain('\u001b');
    expect(stripVTControlCharacters(shown)).toBe(render(code));
  });

  it('writes words as soon as they are certain and holds back only what is open', () => {
    let out = '';
    const stream = new MarkdownStream((part) => (out += part), { colour: false, columns: () => 80 });
    stream.feed('The quick brown fo');
    expect(out).toBe('The quick brown');
    stream.feed('x **ju');
    expect(out).toBe('The quick brown fox');
    stream.feed('mps** ');
    expect(out).toBe('The quick brown fox jumps');
    stream.end();
    expect(out).toBe('The quick brown fox jumps\n');
  });

  it('never writes a carriage return or a cursor movement', () => {
    const commands = render(SAMPLE, { size: 1, colour: true }).split('\u001b').slice(1);
    expect(commands.filter((command) => !/^\[\d+m/u.test(command))).toEqual([]);
    expect(commands.join('')).not.toContain('\r');
  });

  it('T19: shows control characters in what a model says', () => {
    expect(render('a\u001b[2Jb\u0007 `\u001b]0;title\u0007` \u202ex\n```\n\u001b[31m\n```\n')).toBe(
      'a\\x1b[2Jb\\x07 \\x1b]0;title\\x07 \\u{202e}x\n  \\x1b[31m\n',
    );
  });

  it('breaks lines between words and indents what follows a bullet', () => {
    expect(render('- alpha beta gamma delta', { columns: 16 })).toBe('• alpha beta\n  gamma delta\n');
  });

  it('leaves marks that are never closed as they are', () => {
    expect(render('a ** b, `c and *d and [e')).toBe('a ** b, `c and *d and [e\n');
  });

  it('does not cut a pair of surrogates', () => {
    expect(render('hi 😀 there', { size: 1 })).toBe('hi 😀 there\n');
  });
});
