import fs from 'node:fs';
import path from 'node:path';
import type { SeenFile } from '../../contract/protocols/command-provider.ts';
import { stateFolder } from '../../contract/state-files.ts';
import { encodeAnswer } from './answer-file.ts';
import { ANSWERS, answerFile, answersIn, INSTALLED, keyOf, type Question } from './answer-place.ts';

export interface AnswerToKeep {
  readonly question: Question;
  readonly output: string;
  readonly seen: readonly SeenFile[];
  readonly dataDirectory: string;
  /** When the command line began, before it looked at anything. */
  readonly began: number;
}

/** How long after a change the file system's clock may give the next one the same time. */
const TICK_MS = 100;
/** Far above what tens of thousands of lines need. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_ANSWERS = 32;

/** Keeps an answer for whoever asks the same again. Never throws: without it the command is run again. */
export function keepAnswer({ question, output, seen: told, dataDirectory, began }: AnswerToKeep): void {
  const installed = installedFiles(question.installation);
  if (installed === null) return;
  const seen = [...told, ...installed];
  // What changed since may have been seen in an earlier state, and a further change may bear the same times.
  if (seen.some(({ state }) => state !== null && !(state.ctimeMs < began - TICK_MS))) return;
  const key = keyOf(question);
  const bytes = encodeAnswer({ key, output: Buffer.from(output), seen });
  if (bytes.length > MOST_BYTES) return;
  const file = answerFile(dataDirectory, key);
  const draft = `${file}.${process.pid}`;
  try {
    stateFolder(dataDirectory, ...ANSWERS).make(); // what a link leads to is somebody else's
    writeDraft(draft, bytes);
    fs.renameSync(draft, file);
    forgetOldest(answersIn(dataDirectory));
  } catch {
    // A folder that cannot be written, a full disk: the next one is run again, too.
  }
}

function writeDraft(draft: string, bytes: Buffer): void {
  try {
    fs.writeFileSync(draft, bytes, { mode: 0o600, flag: 'wx' }); // no fsync: one that is lost or torn is not believed
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
}

/** null where one is missing: somebody is building. */
function installedFiles(installation: string): readonly SeenFile[] | null {
  try {
    return INSTALLED.map((name) => stateOf(path.join(installation, name)));
  } catch {
    return null; // a build in between is no failure: this answer is not kept
  }
}

function stateOf(file: string): SeenFile {
  const { mtimeMs, ctimeMs, size, ino } = fs.statSync(file);
  return { path: file, state: { mtimeMs, ctimeMs, size, ino } };
}

/** Names of answers, and of drafts that somebody was killed over. Whatever else lies there stays. */
const OWN = /^[0-9a-f]{16}(?:\.\d+)?$/;

function forgetOldest(folder: string): void {
  const names = fs.readdirSync(folder).filter((name) => OWN.test(name));
  if (names.length <= MOST_ANSWERS) return;
  const dated = names.map((name) => ({ file: path.join(folder, name), at: fs.lstatSync(path.join(folder, name)).mtimeMs }));
  for (const { file } of dated.sort((a, b) => b.at - a.at).slice(MOST_ANSWERS / 2)) fs.rmSync(file, { force: true });
}
