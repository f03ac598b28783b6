import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, PithError } from 'pith';
import { guardedYaml } from '@pith/guarded-yaml';
import { isSeq } from 'yaml';
import { activeFolder } from './places.ts';
import { syncFolder } from './sources.ts';

const LIST = ['agent', 'uses_tools'];

/** Adds the extension to `uses_tools` of an agent of this sandbox. Rejects `not_found`. False: the agent has its tools already. */
export async function giveTools(sandbox: string, agent: string, extension: string): Promise<boolean> {
  const { file, document, names } = await manifestOf(sandbox, agent);
  if (names.includes('*') || names.includes(extension)) return false;
  if (isSeq(document.getIn(LIST))) document.addIn(LIST, extension);
  else document.setIn(LIST, [extension]);
  await writeText(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }));
  return true;
}

/** Takes it out again. */
export async function takeTools(sandbox: string, agent: string, extension: string): Promise<void> {
  const { file, document, names } = await manifestOf(sandbox, agent);
  const at = names.indexOf(extension);
  if (at < 0) return;
  document.deleteIn([...LIST, at]);
  await writeText(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }));
}

async function manifestOf(sandbox: string, agent: string) {
  const file = join(activeFolder(sandbox, 'agents', agent), 'manifest.yaml');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error, '') !== 'ENOENT') throw error;
    throw new PithError('not_found', `'${agent}' is no agent of this sandbox: there is no ${file}`, { cure: 'name one of sandbox/agents' });
  }
  const { document } = guardedYaml(text);
  if (document === null) throw new PithError('manifest_invalid', 'it nests too deep', { where: file, cure: 'write it flatter' });
  const list: unknown = document.getIn(LIST);
  const names = isSeq(list) ? (list.toJSON() as unknown[]).map(String) : [];
  return { file, document, names };
}

/** On disk when this resolves; whoever reads sees the old or the new. */
async function writeText(file: string, text: string): Promise<void> {
  const draft = join(dirname(file), `.${randomUUID()}.tmp`);
  const handle = await open(draft, 'wx');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFolder(dirname(file));
}
