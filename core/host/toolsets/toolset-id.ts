/** The code of what is told of a module that brings nothing, or less than it names. */
export const TOOLSET_INVALID = 'toolset_invalid';

/** Whether a folder can be named so, which is what a skill's id is. */
export function isToolsetId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= MOST_BYTES;
}

const MOST_BYTES = 255;
