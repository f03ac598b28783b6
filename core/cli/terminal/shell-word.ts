import { printableLine } from '@pith/plain-text';

/** As a shell takes it; a path that cannot be shown is named in words. */
export function quoted(text: string): string {
  if (/^[\w./~@:+,-]+$/.test(text)) return text;
  return printableLine(text) === text ? `'${text.replaceAll("'", "'\\''")}'` : '<its folder>';
}
