import type { SeenFile } from 'pith';
import { realOf } from './folder.ts';
import { NOTHING } from './scan.ts';
import type { SourcedScan } from './source-scans.ts';
import type { Source } from './sources.ts';
import { lookAt, toState } from './stamp.ts';

/** What a look at all sources looked at; null when some of it may be seen otherwise by a further look. */
export function seenInSources(scans: readonly SourcedScan[], trustedLinks: readonly string[]): readonly SeenFile[] | null {
  const places = new Set(scans.flatMap(({ source: { within } }) => within ?? []));
  const seen = [...places, ...trustedLinks].map(lookAtPlace);
  for (const { source, scan } of scans) {
    const found = scan === NOTHING ? [{ path: source.directory, state: null }] : seenIn(source, scan);
    if (found === null) return null;
    for (const each of found) seen.push(each);
  }
  return seen;
}

function seenIn({ directory }: Source, { skills, directories }: SourcedScan['scan']): readonly SeenFile[] | null {
  const seen = [lookAtPlace(directory)];
  for (const [path, { stamp, settled, links, oddFile }] of directories) {
    if (!settled) return null;
    seen.push({ path, state: toState(stamp) }, ...links.map((name) => lookAtPlace(`${path}/${name}`)));
    if (oddFile !== null) seen.push(lookAt(`${path}/${oddFile}`));
  }
  for (const { directory: folder, file, stamp, settled } of skills.values()) {
    if (!settled) return null;
    seen.push({ path: file, state: toState(stamp) });
    if (!file.endsWith('/SKILL.md')) seen.push({ path: `${folder}/SKILL.md`, state: null });
  }
  return seen;
}

/** Also where it really lies: that decides what may be read. */
function lookAtPlace(path: string): SeenFile {
  return { ...lookAt(path), real: realOf(path) };
}
