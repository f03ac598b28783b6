import type { Command } from 'pith';
import { fields, list, query, text } from './query.ts';

/** What is wrong in the settings or with what was found. */
export interface Finding {
  readonly code: string;
  /** With its place and its cure, as far as they are known. */
  readonly line: string;
}

export async function findingsOf(commands: readonly Command[], signal: AbortSignal): Promise<readonly Finding[]> {
  return list(fields(await query(commands, ['settings'], signal))['findings']).map((value) => {
    const found = fields(value);
    const [file, cure, message = ''] = [text(found['file']), text(found['cure']), text(found['message'])];
    const line = typeof found['line'] === 'number' ? `:${found['line']}` : '';
    const where = file === undefined || message.includes(file) ? '' : `${file}${line}: `;
    return { code: text(found['code']) ?? '', line: `${where}${message}${cure === undefined ? '' : `; ${cure}`}` };
  });
}
