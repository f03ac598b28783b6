import path from 'node:path';

/** What an answer may depend on beside files: the same of all means the same question. */
export interface Question {
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: string;
  /** How it is shown: as `CommandIO` has it. */
  readonly interactive: boolean;
  readonly colour: boolean;
  readonly columns: number;
  /** The folder of the files that Pith runs from: another installation answers for itself. */
  readonly installation: string;
}

/** One text for one question. */
export function keyOf({ argv, workingDirectory, env, sandbox, interactive, colour, columns, installation }: Question): string {
  const names = Object.keys(env)
    .filter((name) => name.startsWith('PITH_') || name === 'HOME' || name === 'NO_COLOR')
    .sort();
  const user = process.getuid?.() ?? -1; // what one may not read another may
  return JSON.stringify([
    process.version,
    installation,
    user,
    workingDirectory,
    sandbox,
    argv,
    names.map((name) => [name, env[name]]),
    [interactive, colour, columns],
  ]);
}

/** Of Pith's own files those that every build makes anew. Each answer names them. */
export const INSTALLED: readonly string[] = ['main.cjs', 'answer.cjs', 'ext/index.json'];

/** Where in a data folder answers are kept. It may be deleted at any time. */
export const ANSWERS = ['.cache', 'answers'] as const;

export function answersIn(dataDirectory: string): string {
  return path.join(dataDirectory, ...ANSWERS);
}

/** The file of an answer. Two questions may have the same one, so the file holds the question too. */
export function answerFile(dataDirectory: string, key: string): string {
  let [a, b] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < key.length; at += 1) {
    a = Math.imul(a ^ key.charCodeAt(at), 0x01000193);
    b = Math.imul(b ^ key.charCodeAt(at), 0x85ebca6b) ^ (b >>> 13);
  }
  return path.join(answersIn(dataDirectory), [a, b].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join(''));
}
