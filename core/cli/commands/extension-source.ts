import { Jail } from '@pith/safe-files';
import { notTextAt, printable } from '@pith/plain-text';
import { type CommandIO, PithError } from '../../contract/index.ts';
import type { ExtensionStatus } from '../../kernel/index.ts';

const MOST_FILES = 500;
const MOST_BYTES = 1024 * 1024;

/** Prints the text files of an extension or agent. Links, hidden files, packages and files that are binary or too long are only named. */
export async function showSource({ id, directory }: Pick<ExtensionStatus, 'id' | 'directory'>, io: CommandIO): Promise<number> {
  if (directory === undefined) throw new PithError('not_found', `'${id}' has no folder`, { cure: 'see: pith extensions list' });
  const jail = new Jail(directory);
  const files: { readonly path: string; readonly text: string | null }[] = [];
  for (const names of await filesBelow(jail, [])) files.push({ path: names.join('/'), text: await textOf(jail, names) });
  io.json({ id, directory, files });
  for (const { path, text } of files) {
    io.print(`── ${printable(path)}${text === null ? ' (not shown: no text, or too long)' : ''}`);
    if (text !== null) io.print(printable(text.trimEnd()));
  }
  return 0;
}

async function filesBelow(jail: Jail, names: readonly string[]): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  const { entries } = await jail.list(names, MOST_FILES);
  for (const { name, type } of entries) {
    if (name.startsWith('.') || name === 'node_modules' || name === 'data') continue;
    if (type === 'directory') found.push(...(await filesBelow(jail, [...names, name])));
    else if (type === 'file') found.push([...names, name]);
  }
  return found.slice(0, MOST_FILES);
}

/** null: the file is not text, or is too long. */
async function textOf(jail: Jail, names: readonly string[]): Promise<string | null> {
  return jail.read(names, async (handle, size) => {
    if (size > MOST_BYTES) return null;
    const bytes = await handle.readFile();
    return notTextAt(bytes) === null ? bytes.toString('utf8') : null;
  });
}
