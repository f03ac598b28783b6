import path from 'node:path';
import { TOOLSET_PREFIX } from '../../contract/protocols/tool-provider.ts';

/** The code of what is told of a module that brings nothing, or less than it names. */
export const TOOLSET_INVALID = 'toolset_invalid';

/** The folder of an extension's data, or of a toolset's, relative to the data directory. */
export function dataPathOf(id: string): string {
  return id.startsWith(TOOLSET_PREFIX) ? path.join('toolsets', id.slice(TOOLSET_PREFIX.length)) : id;
}

/** Whether a folder can be named so, which is what a skill's id is. */
export function isToolsetId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= MOST_BYTES;
}

const MOST_BYTES = 255;
