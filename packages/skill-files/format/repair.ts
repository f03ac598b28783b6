import { type Finding, placeAt } from './finding.ts';
import { KNOWN_FIELDS } from './rules.ts';
import { readYaml, type YamlFailure, type YamlReading } from './yaml.ts';

/** How many values are quoted before the repair gives up. */
const ATTEMPTS = 24;
/** The most text that is parsed in all, in characters: twenty times the largest frontmatter of real skills. */
const WORK = 48 * 1024;
/** The parse cost of a line besides its characters, in characters. */
const LINE = 24;

/** Parses frontmatter as YAML and, where that fails, repairs common mistakes. Each repair is a finding. */
export function readRepaired(head: string, firstLine: number): YamlReading | YamlFailure {
  const findings: Finding[] = [];
  let text = withoutDirectives(head, firstLine, findings);
  const control = CONTROL.exec(text);
  if (control) {
    const { line, column } = placeAt(text, control.index);
    findings.push({ code: 'control_character', detail: codePoint(control[0]), line: firstLine + line - 1, column });
  }
  text = withLostText(text, firstLine, findings);
  let reading = readYaml(text, firstLine);
  const cost = text.length + LINE * text.split('\n').length;
  let spent = cost;
  const mayRead = () => (spent += cost) <= WORK;
  if ('failure' in reading && /^ *\t/m.test(text) && mayRead()) {
    const spaced = withoutTabs(text, firstLine, findings);
    text = spaced;
    reading = readYaml(text, firstLine);
  }
  for (let attempt = 0; attempt < ATTEMPTS && 'failure' in reading && reading.failure.code === 'yaml_invalid'; attempt += 1) {
    const better = quoteNear(text, reading.failure, firstLine, mayRead);
    if (better === null) break;
    text = better.text;
    reading = better.reading;
    findings.push(better.finding);
  }
  return 'failure' in reading ? reading : { fields: reading.fields, findings: [...findings, ...reading.findings] };
}

/** Blanks out `%YAML 1.1` and other directives at the top, so that lines keep their numbers. */
function withoutDirectives(head: string, firstLine: number, findings: Finding[]): string {
  const lines = head.split('\n');
  for (let index = 0; index < lines.length && /^(?:%|\s*$)/.test(lines[index] ?? ''); index += 1) {
    if (!lines[index]?.startsWith('%')) continue;
    findings.push({ code: 'repaired_directive', detail: lines[index]?.trim() ?? '', line: firstLine + index, column: 1 });
    lines[index] = '';
  }
  return lines.join('\n');
}

/** Characters that are invalid in YAML and that nobody types; kept, and never shown. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F]/;

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

const TAG = /^!(?!!)\S*\s+[^\s"'|>[{]/;
const ANCHOR = /^&(\S+)\s+[^\s"'|>[{&*]/;
const COMMENT = /^#\S/;
const COMMENT_AS_DESCRIPTION = /^#\s*\S/;

/** Quotes values that YAML would accept and drop: `!important text`, `&name text` without an alias, `#text`. Only keys at the margin. */
function withLostText(text: string, firstLine: number, findings: Finding[]): string {
  let lines: readonly string[] = text.split('\n');
  for (let index = 0, quotes = 0; index < lines.length && quotes < ATTEMPTS; index += 1) {
    const [indent, key, value] = keyLine(lines[index]) ?? [' ', '', ''];
    if (indent !== '' || !/^[!&#]/.test(value)) continue;
    const anchor = ANCHOR.exec(value)?.[1];
    const comment = key.trim() === 'description' ? COMMENT_AS_DESCRIPTION : COMMENT;
    const commentAlone = comment.test(value) && !continues(lines[index + 1] ?? '', 0);
    if (!commentAlone && !TAG.test(value) && (anchor === undefined || text.includes(`*${anchor}`))) continue;
    const quoted = quoteValue(lines, index);
    if (quoted === null) continue;
    quotes += 1;
    lines = quoted.lines;
    findings.push({ code: 'repaired_quote', detail: quoted.key, line: firstLine + index, column: quoted.column });
  }
  return lines.join('\n');
}

function withoutTabs(text: string, firstLine: number, findings: Finding[]): string {
  const lines = text.split('\n');
  lines.forEach((line, index) => {
    const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
    if (!indent.includes('\t')) return;
    findings.push({ code: 'repaired_tab', detail: '', line: firstLine + index, column: indent.indexOf('\t') + 1 });
    lines[index] = indent.replaceAll('\t', '  ') + line.slice(indent.length);
  });
  return lines.join('\n');
}

/** The line must have no trailing blanks: matching them here would take quadratic time in a run of blanks. */
const KEY_LINE = /^(\s*(?:- +)?)([^\s:#'"{}[\]-][^:#'"{}[\]]*):[ \t]+(\S.*)$/;

/** The indent, key and value of a line that has all three. */
function keyLine(line = ''): readonly [indent: string, key: string, value: string] | null {
  const match = KEY_LINE.exec(line.trimEnd());
  return match === null ? null : [match[1]!, match[2]!, match[3]!];
}

/** `key: |` and the like: a block follows, not a value to quote. */
const BLOCK_INDICATOR = /^[|>][-+0-9]*$/;

interface Better {
  readonly text: string;
  readonly reading: YamlReading | YamlFailure;
  readonly finding: Finding;
}

/** Quotes the value of the line where parsing failed, or of the key above it, if that moves the failure further down. */
function quoteNear(text: string, failure: Finding, firstLine: number, mayRead: () => boolean): Better | null {
  const lines = text.split('\n');
  const failedAt = Math.min((failure.line ?? firstLine) - firstLine, lines.length - 1);
  for (const index of candidates(lines, failedAt)) {
    const quoted = quoteValue(lines, index);
    if (quoted === null) continue;
    if (!mayRead()) return null;
    const next = quoted.lines.join('\n');
    const reading = readYaml(next, firstLine);
    const moved = !('failure' in reading) || (reading.failure.line ?? 0) > (failure.line ?? 0) || reading.failure.code !== 'yaml_invalid';
    if (moved)
      return {
        text: next,
        reading,
        finding: { code: 'repaired_quote', detail: quoted.key, line: firstLine + index, column: quoted.column },
      };
  }
  return null;
}

function candidates(lines: readonly string[], failedAt: number): number[] {
  const found: number[] = [];
  for (let index = failedAt; index >= 0 && found.length < 4; index -= 1) {
    if (keyLine(lines[index]) !== null) found.push(index);
  }
  const top = lines.findLastIndex((line, index) => index <= failedAt && /^\S/.test(line) && keyLine(line) !== null);
  return top === -1 || found.includes(top) ? found : [...found, top];
}

/** Puts the value of a line, with the more indented lines that continue it, into single quotes. */
function quoteValue(lines: readonly string[], index: number): { lines: string[]; key: string; column: number } | null {
  const [indent, key, value] = keyLine(lines[index]) ?? ['', '', '|'];
  if (BLOCK_INDICATOR.test(value)) return null;
  let last = index;
  while (last + 1 < lines.length && continues(lines[last + 1] ?? '', indent.length)) last += 1;
  // A known key that is indented too far is not text.
  for (let at = index + 1; at <= last; at += 1) if (KNOWN_FIELDS.has(keyLine(lines[at])?.[1].trim() ?? '')) return null;
  const next = [...lines];
  const column = (lines[index] ?? '').indexOf(value, indent.length + key.length + 1);
  for (let at = index; at <= last; at += 1) {
    const line = (lines[at] ?? '').trimEnd();
    next[at] = at === index ? `${line.slice(0, column)}'${line.slice(column).replaceAll("'", "''")}` : line.replaceAll("'", "''");
  }
  next[last] += "'";
  return { lines: next, key: key.trim(), column: column + 1 };
}

function continues(line: string, indent: number): boolean {
  return line.trim() !== '' && line.length - line.trimStart().length > indent;
}
