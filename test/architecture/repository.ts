import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

const LEFT_OUT = new Set(['node_modules', 'dist', 'data', 'coverage']);

/** Files below the folder, relative to the repository, with one of the extensions; without hidden ones. */
export function filesBelow(folder: string, ...extensions: readonly string[]): readonly string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !LEFT_OUT.has(name))
    .flatMap((entry) => {
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(file, ...extensions);
      return extensions.length === 0 || extensions.includes(path.extname(file)) ? [file] : [];
    })
    .sort();
}

export function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** TypeScript without comments and without the text of strings, of the same number of lines. */
export function codeOnly(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, (part) => part.replace(/[^\n]/g, ' '));
}

/** TypeScript without comments, of the same number of lines. */
export function withoutComments(source: string): string {
  return source.replace(
    /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (part, text?: string) => text ?? part.replace(/[^\n]/g, ' '),
  );
}

/** `file:line` of each match. */
export function places(file: string, text: string, pattern: RegExp): readonly string[] {
  return text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}`] : []));
}
