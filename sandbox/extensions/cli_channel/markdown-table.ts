import { inlineSpans, type Span } from './inline-markdown.ts';
import { cells } from './word-wrap.ts';

/** A table of pipes, aligned; each line ends with a line feed. Lines that make no table come out as they are. */
export function renderMarkdownTable(lines: readonly string[], paint: (span: Span) => string): string {
  const rows = lines.map(cellsOf);
  const rule = rows[1];
  if (rule === undefined || !rule.every((cell) => /^:?-+:?$/u.test(cell))) return lines.map((line) => `${line}\n`).join('');
  const shown = rows.filter((_, index) => index !== 1).map((row) => row.map((cell) => inlineSpans(cell, true).spans));
  const count = Math.max(...shown.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) => Math.max(3, ...shown.map((row) => widthOf(row[column] ?? []))));
  const out = shown.map((row, index) =>
    widths
      .map((width, column) => {
        const spans = row[column] ?? [];
        const text = spans.map((span) => paint(index === 0 ? { ...span, looks: ['bold', ...span.looks] } : span)).join('');
        return aligned(text, width - widthOf(spans), rule[column]);
      })
      .join('  ')
      .trimEnd(),
  );
  out.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('  '));
  return out.map((line) => `${line}\n`).join('');
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, '')
    .replace(/(?<!\\)\|$/u, '');
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.replaceAll('\\|', '|').trim());
}

function aligned(text: string, space: number, rule = ''): string {
  if (!rule.endsWith(':')) return text + ' '.repeat(space);
  const left = rule.startsWith(':') ? Math.floor(space / 2) : space;
  return ' '.repeat(left) + text + ' '.repeat(space - left);
}

function widthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + cells(span.text), 0);
}
