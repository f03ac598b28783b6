/** Ids and names are compared in this form, so that a folder's decomposed name is found by composed text. */
export function canonical(name: string): string {
  return PLAIN.test(name) ? name : name.normalize('NFC');
}

const PLAIN = /^[\x20-\x7e]*$/;

/** The id of the skill in that folder. Of a plugin's skill: `plugin:folder`, so that several plugins may each have a `start`. */
export function idOf(directory: string, plugin: string | null = null): string {
  const folder = canonical(directory.slice(directory.lastIndexOf('/') + 1));
  return plugin === null ? folder : `${plugin}:${folder}`;
}
