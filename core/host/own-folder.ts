import { lstatSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/** Whether a folder below the data folder, and each on the way to it, is a folder and no link: what one leads to belongs to somebody else. */
export function isOwnFolder(dataDirectory: string, ...names: readonly string[]): boolean {
  return foldersOf(dataDirectory, names).every(isFolder);
}

/** Makes it where it is missing. False where a link or a file stands in its place; then nothing is made. Throws the file system's error. */
export function makeOwnFolder(dataDirectory: string, ...names: readonly string[]): boolean {
  const [data, ...below] = foldersOf(dataDirectory, names) as [string, ...string[]];
  mkdirSync(data, { recursive: true });
  for (const folder of below) {
    if (!isFolder(path.dirname(folder))) return false;
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { recursive: true });
  }
  return isOwnFolder(dataDirectory, ...names);
}

function foldersOf(dataDirectory: string, names: readonly string[]): readonly string[] {
  const folders = [path.resolve(dataDirectory)]; // a slash at its end would follow a link
  for (const name of names) folders.push(path.join(folders.at(-1)!, name));
  return folders;
}

function isFolder(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
