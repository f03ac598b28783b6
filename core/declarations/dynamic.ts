import { realpathSync } from 'node:fs';
import path from 'node:path';
import { type DynamicDeclaration, messageOf, PithError } from '../contract/index.ts';
import { manifestSchema } from '../trust/index.ts';
import { type Declaration, isDynamic, shortId } from './declaration.ts';

/** Of a name, which is that of a folder. */
const MOST_BYTES = 255;

/**
 * What `provider` declares, as a folder declares it with a manifest that asks for nothing. Throws `not_allowed` for an id that it cannot
 * have, and `import_failed` where its folder cannot be read.
 */
export function dynamicDeclaration(
  provider: Declaration,
  { folder, file, manifest: { id, ...named }, main }: DynamicDeclaration,
  digest = '',
): Declaration {
  const name = shortId(id);
  const isName = name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name) && Buffer.byteLength(id) <= MOST_BYTES;
  if (!isDynamic(id) || !isName)
    throw new PithError(
      'not_allowed',
      `'${provider.id}' declares an extension that cannot be opened: '${id.slice(0, 100)}' cannot be its id`,
    );
  const manifest = manifestSchema().parse({ name: id, ...named, ...MANIFEST, id: provider.id, depends_on: [provider.id] });
  const { contract } = provider;
  return {
    id,
    directory: realOf(id, folder),
    file,
    manifest: { ...manifest, id },
    prompt: null,
    shipped: false,
    digest,
    diagnostics: [],
    dynamic: { by: provider.id, main },
    ...(contract && { imports: { protocols: {}, topics: {}, contracts: { [provider.id]: contract }, absent: [] } }),
  };
}

/** There is no such file. */
const ENTRY = 'dynamic-main.js';
const MANIFEST = { entrypoint: ENTRY, provides: ['tool'], isolation: 'process' };

function realOf(id: string, folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    throw new PithError('import_failed', `the folder of '${id}' cannot be read: ${messageOf(error)}`, {
      cause: error,
      where: path.normalize(folder),
    });
  }
}
