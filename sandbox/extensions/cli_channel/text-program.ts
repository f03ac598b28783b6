import path from 'node:path';
import { messageOf } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { endOf, startProcess } from '@pith/supervised-process';

/** Of this chat: another one may edit at the same time. */
const FILE = `draft-${process.pid}.md`;
const MOST_BYTES = 1024 * 1024;
/** Gives the terminal back as it was: an editor that crashes leaves it as it needed it. */
const RUN = 'saved=$(stty -g 2>&-); trap : INT QUIT; EDITOR "$1"; code=$?; [ -z "$saved" ] || stty "$saved"; exit $code';

/**
 * The text as the person leaves it in their editor, which has the terminal until it ends: `$VISUAL`, `$EDITOR` or vi. `why`: it is as it
 * was. Never rejects.
 */
export async function editInProgram(
  text: string,
  folder: StateFolder,
  editor = '${VISUAL:-${EDITOR:-vi}}',
): Promise<{ readonly text: string } | { readonly why: string }> {
  try {
    await folder.write(FILE, text);
    const argv = ['sh', '-c', RUN.replace('EDITOR', () => editor), 'sh', path.join(folder.path, FILE)];
    const { code } = await endOf(await startProcess(argv, { stdio: 'inherit' }));
    if (code !== 0)
      return {
        why: code === 127 ? 'there is no such editor: set EDITOR to one' : `the editor ended with code ${code}: the text is as it was`,
      };
    return { text: String(folder.read(FILE, MOST_BYTES) ?? text) };
  } catch (error) {
    return { why: messageOf(error) };
  } finally {
    folder.remove(FILE);
  }
}
