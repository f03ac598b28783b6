import fs from 'node:fs';
import path from 'node:path';
import { likelyDataDirectory } from '../../host/settings/likely-data-directory.ts';
import { takeCommonOptions } from '../common-options.ts';
import { locateSandbox } from '../locate.ts';
import { decodeAnswer, type StoredAnswer } from './answer-file.ts';
import { answerFile, INSTALLED, keyOf, type Question } from './answer-place.ts';
import { isUnchanged } from './unchanged.ts';

/**
 * Gives this process's command line the answer that was kept of an earlier one, where all that it was made from is unchanged. False: it
 * is to be run. Stands in a file of its own, which is all that is loaded for such an answer.
 */
export function giveKeptAnswer(installation: string, env: Env): boolean {
  try {
    const output = keptAnswer({ argv: process.argv.slice(2), workingDirectory: process.cwd(), env, installation }, screen);
    if (output === null) return false;
    print(output);
    return true;
  } catch {
    return false; // whoever runs the command says what is wrong
  }
}

type Env = Readonly<Record<string, string | undefined>>;
type Screen = Pick<Question, 'interactive' | 'colour' | 'columns'>;

/** What a command line printed before; null when that is not known, or may be different now. Throws what a file system may. */
export function keptAnswer(
  asked: Pick<Question, 'argv' | 'workingDirectory' | 'env' | 'installation'>,
  shownOn: (json: boolean, env: Env) => Screen,
): Uint8Array | null {
  const { argv, workingDirectory, env } = asked;
  const { version, help, words, json, flags, sandbox: named } = takeCommonOptions(argv);
  const home = env['HOME'];
  if (version || help || words.length === 0 || !home) return null; // without HOME somebody else would have to be asked for it
  const sandbox = locateSandbox(named ?? env['PITH_SANDBOX'] ?? null, workingDirectory);
  const key = keyOf({ ...asked, sandbox, ...shownOn(json, env) });
  const bytes = contentOf(answerFile(likelyDataDirectory({ sandbox, home, env, flags, workingDirectory }), key));
  const answer = bytes && decodeAnswer(bytes);
  if (answer?.key !== key || !isMadeHere(answer, sandbox, asked.installation)) return null;
  return isUnchanged(answer) ? answer.output : null;
}

/** Each answer is made from the settings of its sandbox, its folders and the build, whether they are there or not. */
function isMadeHere({ paths, others }: StoredAnswer, sandbox: string, installation: string): boolean {
  const named = (file: string): boolean => paths.includes(file) || others.some((each) => each.path === file);
  return [
    ...INSTALLED.map((name) => path.join(installation, name)),
    path.join(sandbox, 'pith.yaml'),
    path.join(sandbox, 'extensions'),
    path.join(sandbox, 'agents'),
  ].every(named);
}

/** As `terminalIO` has it; streams are opened only for a terminal. */
function screen(json: boolean, env: Env): Screen {
  if (!mayBeTerminal()) return { interactive: false, colour: false, columns: 80 };
  const isShown = process.stdout.isTTY === true;
  return {
    interactive: isShown && !json && process.stdin.isTTY === true,
    colour: isShown && !json && !env['NO_COLOR'],
    columns: process.stdout.columns || 80,
  };
}

function mayBeTerminal(): boolean {
  const out = fs.fstatSync(1);
  return out.isCharacterDevice() && out.rdev !== fs.statSync('/dev/null').rdev;
}

function contentOf(file: string): Buffer | null {
  if (!fs.existsSync(file)) return null; // dearer to be told by an error
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const stats = fs.fstatSync(descriptor);
    if (!stats.isFile()) return null;
    const bytes = Buffer.from(new ArrayBuffer(stats.size));
    let read = 0;
    for (let more = 1; more > 0 && read < bytes.length; read += more)
      more = fs.readSync(descriptor, bytes, read, bytes.length - read, null);
    return read === bytes.length ? bytes : null;
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Without the stream, whose making takes longer than the rest. */
function print(output: Uint8Array): void {
  let written = 0;
  try {
    while (written < output.length) written += fs.writeSync(1, output, written);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPIPE') return; // the reader has seen enough
    process.stdout.write(output.subarray(written)); // EAGAIN, and what else a stream knows to say better
  }
}
