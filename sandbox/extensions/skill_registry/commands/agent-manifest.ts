import { parse } from 'yaml';

/** What a manifest holds, unchecked. In a file of its own, so that only a command that names an agent loads the parser. */
export function parseManifest(text: string): unknown {
  return parse(text, { version: '1.2', schema: 'core' });
}
