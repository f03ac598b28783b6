import path from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { messageOf } from 'pith';
import { printableLine } from '@pith/plain-text';
import { beginsAsScript, folderTree, type FolderTree, inPieces, isProgram, parseSkillFile, type TreeFile } from '@pith/skill-files';
import { credentialPaths, secretFlows } from './credentials.ts';
import { downloadAndRun } from './download-and-run.ts';
import { encodedText } from './encoded-text.ts';
import { hiddenCharacters } from './hidden-characters.ts';
import { unknownHosts } from './hosts.ts';
import { instructions } from './instructions.ts';
import { persistence } from './persistence.ts';
import { nearby } from './rules.ts';
import { prerequisites } from './prerequisites.ts';
import { bySeverity, type ScanFinding, type ScannedLine, type ScannedText, type Scanner, type SkillInspection } from './scan-finding.ts';

/** Of one file; what follows is reported as not looked at. */
const FILE_LIMIT = 1024 * 1024;
/** Of all files of a skill. */
const TEXT_LIMIT = 16 * 1024 * 1024;
/** Of each file, however many there are. */
const HEAD_LIMIT = 8 * 1024;
/** Findings of one kind in one file. */
const SAME = 10;

/** Looks at every file of a skill's folder without following links. Rejects only where the folder cannot be read. */
export async function inspectSkill(directory: string): Promise<SkillInspection> {
  const tree = await folderTree(directory);
  const findings: ScanFinding[] = [...treeFindings(tree)];
  const scripts = new Set(tree.files.filter((file) => isProgram(file)).map((file) => file.path));
  const toolsets: string[] = [];
  let left = TEXT_LIMIT;
  for (const file of [...tree.files].sort(byWorth)) {
    const read = await readBytes(directory, file, Math.max(HEAD_LIMIT, Math.min(FILE_LIMIT, left)));
    if (typeof read === 'string') findings.push(finding(scripts.has(file.path) ? 'high' : 'medium', 'not_scanned', file.path, read));
    else {
      left -= read.length;
      const readings = readingsOf(read);
      if (beginsAsScript(read)) scripts.add(file.path);
      findings.push(...(await fileFindings(file, scripts.has(file.path), read.length, readings)));
      if (isSkillFile(file)) toolsets.push(...(await toolsetsOf(directory, file, readings.text)));
    }
    await yieldToOthers();
  }
  return {
    files: tree.files.map(({ path: name, size }) => ({ path: name, size })),
    links: tree.links,
    scripts: [...scripts].sort(),
    toolsets,
    findings: findings.sort(bySeverity),
  };
}

/** What runs comes first, then what is read, the small before the large: nothing that is put beside it takes its room. */
function byWorth(a: TreeFile, b: TreeFile): number {
  return worth(a) - worth(b) || a.size - b.size || (a.path < b.path ? -1 : 1);
}

function worth(file: TreeFile): number {
  if (isProgram(file) || isSkillFile(file)) return 0;
  return isProse(file.path) ? 1 : 2;
}

async function fileFindings(
  file: TreeFile,
  runs: boolean,
  bytes: number,
  { text, rest, holdsNul, isMachineCode }: Readings,
): Promise<readonly ScanFinding[]> {
  const findings: ScanFinding[] = [];
  const isData = holdsNul && (isMachineCode || !(runs || isProse(file.path)));
  if (bytes < file.size && !(isData && !runs))
    findings.push(finding(runs ? 'high' : 'medium', 'not_scanned', file.path, `only its first ${bytes} bytes were looked at`));
  if (holdsNul && (runs || isMachineCode)) findings.push(finding('high', 'binary_program', file.path, 'is a program that nobody can read'));
  else if (holdsNul && !isData)
    findings.push(finding('medium', 'hidden_character', file.path, 'contains NUL characters, which hide it from many programs'));
  const hits = isData ? [] : await inPieces(scanning(file.path, text));
  findings.push(...hits);
  if (rest === null) return findings;
  const known = new Set(hits.map(keyOf));
  const hidden = await inPieces(scanning(file.path, rest));
  return [...findings, ...hidden.filter((one) => one.severity === 'high' && !known.has(keyOf(one)))];
}

function keyOf({ severity, code, line }: ScanFinding): string {
  return `${severity} ${code} ${line}`;
}

/** The findings of one text, `file` being its name in the skill. */
export function scanText(file: string, text: string): readonly ScanFinding[] {
  const work = scanning(file, text);
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value;
}

/** Yields where others may work. */
function* scanning(file: string, text: string): Generator<void, readonly ScanFinding[]> {
  const scanned = yield* scannedText(file, text);
  const findings: ScanFinding[] = [];
  for (const scanner of SCANNERS) {
    const seen = new Map<string, number>();
    for (const hit of scanner(scanned)) {
      if (hit === null) {
        yield;
        continue;
      }
      const key = `${hit.code} ${hit.severity}`;
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      if (count <= SAME) findings.push({ ...hit, file }); // what is worse may follow
    }
    yield;
  }
  return findings;
}

function* treeFindings({ links, others, unnamed, files, more, entries }: FolderTree): Iterable<ScanFinding> {
  for (const { path: name } of entries)
    if (printableLine(name) !== name) yield finding('high', 'hidden_character', name, 'has a name with characters that nobody sees');
  for (const link of links)
    yield finding(
      leadsOut(link) ? 'high' : 'low',
      'link',
      link.path,
      `is a link to ${JSON.stringify(link.target)}${leadsOut(link) ? ', outside of the skill' : ''}`,
    );
  for (const other of others) yield finding('high', 'no_file', other, 'is neither a file nor a folder');
  for (const name of unnamed) yield finding('high', 'no_file', name, 'has a name that is not UTF-8, so nothing of it was looked at');
  for (const file of files)
    if (file.links > 1) yield finding('medium', 'link', file.path, 'has several hard links, so it may be a file from elsewhere');
  if (more) yield finding('high', 'not_scanned', '.', 'contains more than was looked at');
}

function leadsOut({ path: name, target }: { readonly path: string; readonly target: string }): boolean {
  const reached = path.posix.normalize(path.posix.join(path.posix.dirname(name), target));
  return path.posix.isAbsolute(target) || reached === '..' || reached.startsWith('../');
}

function isSkillFile({ path: name }: TreeFile): boolean {
  return /^skill\.md$/i.test(name);
}

/** The first bytes of a file, at most `limit`; else why it was not looked at. */
async function readBytes(directory: string, file: TreeFile, limit: number): Promise<Buffer | string> {
  try {
    const handle = await open(path.join(directory, file.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) return 'is not a regular file';
      const buffer = Buffer.alloc(Math.min(limit, file.size + 1));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    return `was not looked at: ${messageOf(error)}`;
  }
}

async function toolsetsOf(directory: string, file: TreeFile, text: string): Promise<readonly string[]> {
  const about = { id: path.basename(directory), file: path.join(directory, file.path), mode: 'load', size: file.size } as const;
  return (await parseSkillFile(text, about)).fields.toolsets;
}

function finding(severity: ScanFinding['severity'], code: string, file: string, message: string): ScanFinding {
  return { severity, code, file, line: 1, message };
}

/** How the bytes of a file can be read. */
interface Readings {
  /** As a person reads them. */
  readonly text: string;
  /** As an interpreter may read them that takes no notice of what it does not know; null: as the text is. */
  readonly rest: string | null;
  /** NUL characters, which hide a text from most that looks at it, or make it the data of a program. */
  readonly holdsNul: boolean;
  /** They begin as programs of machines do. */
  readonly isMachineCode: boolean;
}

const MACHINE_CODE = /^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm)/;

function readingsOf(bytes: Buffer): Readings {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  const whole = bytes.toString(isWide ? 'utf16le' : 'utf8');
  const text = whole.split('\0').join(''); // a third of the time of replaceAll where there are many
  const holdsNul = text.length < whole.length;
  const isMachineCode = holdsNul && MACHINE_CODE.test(bytes.subarray(0, 4).toString('latin1'));
  return { text, rest: isWide || holdsNul ? visible(bytes) : null, holdsNul, isMachineCode };
}

/** A shell runs the lines that it can read among others that it cannot. */
function visible(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[^\t\n\r\x20-\x7e]+/g, '');
}

/** A line is looked at in pieces of this length, so that no pattern meets an endless one. */
const PIECE = 4096;
const PIECES_AT_ONCE = 8;
/** What a pattern may span over the border of two pieces. */
const OVERLAP = 512;
const PROSE =
  /\.(?:md|mdx|markdown|txt|rst|adoc|html?|csv|tsv|json|jsonl|ya?ml|toml|xml|svg)$|(?:^|\/)(?:licen[cs]e|notice|readme|changelog)[^/]*$/i;

/** Of a program, whatever its file is called. */
const CODE_LINE =
  /^\s*(?:import\s+(?:[\w$.]{1,60}\s*(?:$|;|,|from\b|as\b)|[{*'"])|from\s+[\w.]{1,60}\s+import\s|(?:const|let|var)\s+[\w${[][^=]{0,80}=|(?:async\s+)?function\s+\w+\s*\(|(?:async\s+)?def\s+\w+\s*\(|set\s+-[eux]|export\s+\w+=)/;

/** By its first line that is neither empty nor a comment. */
function beginsAsCode(text: string): boolean {
  const head = text.slice(0, HEAD_LIMIT);
  return head.startsWith('#!') || CODE_LINE.test(head.split('\n').find((line) => !/^\s*(?:$|#|\/\/|["']use strict["'])/.test(line)) ?? '');
}

/** Whether a file with that name is for reading. */
function isProse(path: string): boolean {
  return PROSE.test(path);
}

function* scannedText(path: string, text: string): Generator<void, ScannedText> {
  const lines: ScannedLine[] = [];
  for (const line of linesOf(text))
    if (line === null) yield;
    else lines.push(line);
  return { path, kind: isProse(path) && !beginsAsCode(text) ? 'prose' : 'code', text, lines };
}

/** Lines as they are written, between two pauses. */
const LINES_AT_ONCE = 5000;
/** Characters between two pauses. */
const CHARACTERS_AT_ONCE = 32 * 1024;

/** With null now and then, so that others may work. */
function* linesOf(text: string): Iterable<ScannedLine | null> {
  const raw = rawLines(text);
  let paused = 0;
  let length = 0;
  let number = 1;
  for (let next = raw.next(); !next.done;) {
    const first = number;
    if (first - paused >= LINES_AT_ONCE || length >= CHARACTERS_AT_ONCE) {
      paused = first;
      length = 0;
      yield null;
    }
    const parts: string[] = [];
    for (let size = 0, isContinued = true; isContinued && !next.done; number += 1) {
      const part = next.value;
      next = raw.next();
      isContinued = (size += part.length + 1) <= PIECE && continues(part);
      parts.push(isContinued ? part.trimEnd().replace(/[\\`^]$/, '') : part);
    }
    const line = parts.join(' ');
    length += line.length;
    if (line.length <= PIECE) {
      if (line !== '') yield asRead(first, line);
      continue;
    }
    for (let start = 0, pieces = 1; start < line.length; start += PIECE - OVERLAP, pieces++) {
      yield asRead(first, line.slice(start, start + PIECE));
      if (pieces % PIECES_AT_ONCE === 0) yield null;
    }
  }
}

function asRead(number: number, text: string): ScannedLine {
  return { number, text, plain: plainLine(text) };
}

function* rawLines(text: string): Generator<string, void> {
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x0a && code !== 0x0d && code !== 0x2028 && code !== 0x2029) continue;
    yield text.slice(from, at);
    if (code === 0x0d && text.charCodeAt(at + 1) === 0x0a) at += 1;
    from = at + 1;
  }
  yield text.slice(from);
}

/** A shell reads on after a backslash or a pipe, those of Windows after ` or ^; a row of a Markdown table ends with a pipe too. */
function continues(line: string): boolean {
  const end = line.trimEnd();
  return end.endsWith('\\') || /\s[`^]$/.test(end.slice(-2)) || (end.endsWith('|') && !end.trimStart().startsWith('|'));
}

const SCANNERS: readonly Scanner[] = [
  downloadAndRun,
  credentialPaths,
  nearby([...prerequisites, ...secretFlows, ...persistence]),
  encodedText,
  hiddenCharacters,
  unknownHosts,
  instructions,
];

/** A line as a person reads it: without what nobody sees, and without letters of other scripts in words of Latin ones, also where entities spell it. */
function plainLine(written: string): string {
  const line = written.includes('&') ? written.replace(ENTITY, decoded) : written;
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(line)) return line;
  const visible = line.normalize('NFKC').replace(/[\p{Cf}\u00ad]+/gu, '');
  return LOOK_ALIKE.test(visible) ? visible.replace(WORD, (word) => (/[a-z]/i.test(word) ? asLatin(word) : word)) : visible;
}

/** Numbers stand for any character, and are read without their semicolon; names for those that hold words apart. */
const ENTITY =
  /&(?:#(\d{1,7}|x[0-9a-f]{1,6});?|(nbsp|ensp|emsp|thinsp|shy|zwnj|zwj|Tab|NewLine|amp|lt|gt|quot|apos|colon|sol|lpar|rpar|period);)/gi;
const NAMED: ReadonlyMap<string, string> = new Map([
  ...['nbsp', 'ensp', 'emsp', 'thinsp', 'tab', 'newline'].map((name) => [name, ' '] as const),
  ...['shy', 'zwnj', 'zwj'].map((name) => [name, ''] as const),
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", colon: ':', sol: '/', lpar: '(', rpar: ')', period: '.' }),
]);

function decoded(entity: string, number: string | undefined, name: string | undefined): string {
  if (number === undefined) return NAMED.get(name?.toLowerCase() ?? '') ?? entity;
  const code = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number(number);
  return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? entity : String.fromCodePoint(code);
}

const FOREIGN =
  '\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0432\u043a\u043c\u043d\u0442\u03bf\u03b1\u03bd\u03b9\u03c1\u03c5';
const LATIN = 'aeopcyxijshdqwbkmhtoavipu';
const LOOK_ALIKE = new RegExp(`[${FOREIGN}]`, 'i');
const WORD = /[a-z\u0370-\u052f]+/gi;

function asLatin(word: string): string {
  return Array.from(word, (letter) => {
    const at = FOREIGN.indexOf(letter.toLowerCase());
    return at === -1 ? letter : LATIN.charAt(at);
  }).join('');
}
