import fs from 'node:fs';
import path from 'node:path';
import { isBelow } from '@pith/safe-files';

const ENDINGS = ['.ts', '.js', '.mjs', '/index.ts', '/index.js', '/index.mjs'];
const WRITE = 'write path:Export, such as toolsets/index:Tools';

/** One `path:Export`, with its file below the skill's folder or why there is none. */
type ModulePlace = { readonly name: string } & ({ readonly file: string } | { readonly problem: string });

/** The entrypoint of a toolset, of these modules; `contract`: the extension whose contract makes it. */
export function entryText(contract: string, skillId: string, directory: string, names: readonly string[]): string {
  const modules = names.map((each) => {
    const { name, ...place } = placeOfModule(directory, each);
    const how = 'file' in place ? `load: () => import(${JSON.stringify(`./${place.file}`)})` : `problem: ${JSON.stringify(place.problem)}`;
    return `  { name: ${JSON.stringify(name)}, ${how} },\n`;
  });
  const from = JSON.stringify(`pith/${contract}`);
  return `import { makeToolset } from ${from};\nexport default await makeToolset(${JSON.stringify(skillId)}, [\n${modules.join('')}]);\n`;
}

/** Where one `path:Export` of a toolset is found, or why it is not, as the end of a sentence. `directory` is a real path, which no module leaves, by whatever links. */
function placeOfModule(directory: string, name: string): ModulePlace {
  const no = (problem: string, cure: string): ModulePlace => ({ name, problem: `${problem}; ${cure}` });
  const colon = name.lastIndexOf(':');
  const [wanted, exported] = [name.slice(0, colon), name.slice(colon + 1)];
  if (colon <= 0 || exported === '') return no('it does not name a module and an export', WRITE);
  const found = findFile(directory, wanted);
  if (found !== null) return isReallyBelow(directory, found) ? { name, file: found } : no(LEAVES, STAY);
  if (/^(?:data|node|file|https?|blob)$|^[a-z][a-z0-9+.-]+:/i.test(wanted)) return no('it is code from elsewhere', STAY);
  if (leaves(directory, wanted)) return no(LEAVES, STAY);
  if (!/^[\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$\u200c\u200d]*$/u.test(exported))
    return no(`'${exported}' is not a name of an export`, WRITE);
  return no(
    `there is no file '${wanted}'${/\.\w+$/.test(wanted) ? '' : ', nor one with .ts, .js or .mjs, nor an index in a folder of that name'}`,
    'correct the path or add the file',
  );
}

/** Whether the module of one `path:Export` is a file in that folder. */
export function isModuleThere(directory: string, name: string): boolean {
  const found = findFile(directory, name.replace(/:[^:]*$/, ''));
  return found !== null && isReallyBelow(directory, found);
}

const LEAVES = "it leaves the skill's folder";
const STAY = "put the module into the skill's own folder and name it by its path there";

/** The first of the files that a path may stand for. */
function findFile(directory: string, wanted: string): string | null {
  if (leaves(directory, wanted)) return null;
  const relative = path.posix.normalize(wanted);
  return ['', ...ENDINGS].map((ending) => relative + ending).find((file) => isFile(path.join(directory, file))) ?? null;
}

function leaves(directory: string, wanted: string): boolean {
  const isOdd = wanted.includes('\\') || wanted.includes('\0') || path.isAbsolute(wanted);
  return isOdd || wanted.split('/').includes('..') || !isBelow(path.resolve(directory, wanted), directory);
}

function isReallyBelow(directory: string, file: string): boolean {
  return isBelow(fs.realpathSync(path.join(directory, file)), directory);
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false; // nothing there, or a link to itself
  }
}
