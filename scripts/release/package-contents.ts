// What the package holds, from the paths of its files. Code is listed by its folder and kind: how it is split into files promises nothing.

/** A folder of the build or an extension, and a file in it. */
const CODE = /^(dist\/[0-9a-f]{16}\/[^/]+|sandbox\/extensions\/[^/]+)\/(.+)$/;

/** Files of an extension that others read. */
const NAMED = ['manifest.yaml', 'contract.ts'];

export function packageContents(files: readonly string[]): readonly string[] {
  return [...new Set(files.map(lineOf))].toSorted();
}

function lineOf(file: string): string {
  const [, folder, rest = ''] = CODE.exec(file) ?? [];
  const shown = folder === undefined || NAMED.includes(rest) ? file : `${folder}/**/*${kindOf(rest)}`;
  return shown.replace(/^dist\/[0-9a-f]{16}\//, 'dist/<build>/');
}

/** `.d.ts`, `.yaml`; empty for a file without one. */
function kindOf(file: string): string {
  return /(?:\.d)?\.[^./]+$/.exec(file)?.[0] ?? '';
}
