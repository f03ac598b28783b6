import path from 'node:path';
import { existsSync } from 'node:fs';
import { FileRefused, isInside, realPathOf, secretPlaces } from '@pith/safe-files';

/** Folders of home that a person named in the settings and that are there. Absolute, without links. Throws for one in which keys are kept. */
export function namedFolders(home: string | null, names: readonly string[]): readonly string[] {
  if (home === null) return [];
  const root = realPathOf(home);
  const keys = secretPlaces(home)
    .filter((place) => existsSync(place))
    .map(realPathOf);
  return names.map((name) => {
    const folder = realPathOf(path.join(home, name));
    const refused = (why: string): FileRefused =>
      new FileRefused('protected', `shell.home names '${name}', ${why}; name another folder in extensions.project_tools.shell.home`);
    if (isInside(root, folder) || !isInside(folder, root)) throw refused('which is not a folder in your home folder');
    const key = keys.find((place) => isInside(folder, place) || isInside(place, folder));
    if (key !== undefined) throw refused(`in which keys are kept (~/${path.relative(root, key)})`);
    return folder;
  });
}
