import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, PithError } from 'pith';
import { guardedYaml } from '@pith/guarded-yaml';
import { replaceFile } from '@pith/safe-files';
import { type Document, isSeq } from 'yaml';
import { activeFolder } from './places.ts';

const LIST = ['agent', 'uses_tools'];

/** Adds the extension to `uses_tools` of an agent of this sandbox. Rejects `not_found`. False: the agent has its tools already. */
export async function giveTools(sandbox: string, agent: string, extension: string): Promise<boolean> {
  const { file, document, names } = await manifestOf(sandbox, agent);
  if (names.includes('*') || names.includes(extension)) return false;
  if (isSeq(document.getIn(LIST))) document.addIn(LIST, extension);
  else document.setIn(LIST, [extension]);
  write(file, document);
  return true;
}

/** Takes it out again. */
export async function takeTools(sandbox: string, agent: string, extension: string): Promise<void> {
  const { file, document, names } = await manifestOf(sandbox, agent);
  const at = names.indexOf(extension);
  if (at < 0) return;
  document.deleteIn([...LIST, at]);
  write(file, document);
}

async function manifestOf(sandbox: string, agent: string) {
  const file = join(activeFolder(sandbox, 'agents', agent), 'manifest.yaml');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error, '') !== 'ENOENT') throw error;
    throw new PithError('not_found', `'${agent}' is not an agent of this sandbox: there is no ${file}`, {
      cure: 'name one of sandbox/agents',
    });
  }
  const { document } = guardedYaml(text);
  if (document === null) throw new PithError('manifest_invalid', 'it nests too deep', { where: file, cure: 'write it flatter' });
  const list: unknown = document.getIn(LIST);
  const names = isSeq(list) ? (list.toJSON() as unknown[]).map(String) : [];
  return { file, document, names };
}

/** On disk when this returns; whoever reads sees the old or the new. */
function write(file: string, document: Document): void {
  replaceFile(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }), 0o644);
}
