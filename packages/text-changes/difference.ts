import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

/** A comparison that takes longer is shown as the old text and the new one. */
const COMPARE_MS = 200;

/** The unified diff of a file's texts; null: there is no such file. */
export function difference(path: string, old: string | null, next: string | null, timeout = COMPARE_MS): string {
  const [from, to] = [old === null ? '/dev/null' : `a/${path}`, next === null ? '/dev/null' : `b/${path}`];
  const [left, right] = [old ?? '', next ?? ''];
  const patch = createTwoFilesPatch(from, to, left, right, undefined, undefined, { timeout, headerOptions: FILE_HEADERS_ONLY });
  const lines = (sign: string, text: string) => (text === '' ? [] : text.split('\n').map((line) => `${sign}${line}`));
  return patch ?? [`--- ${from}`, `+++ ${to}`, ...lines('-', left), ...lines('+', right), ''].join('\n');
}
