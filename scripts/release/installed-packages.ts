// The packages of a project as npm has installed them: their licences and their size.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; empty where its package.json has none. */
  readonly license: string;
}

const ALLOWED = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0', 'CC0-1.0', 'Unlicense']);

/** One of several offered licences is enough; of several required ones each must be allowed. */
export function isAllowed(license: string): boolean {
  const offered = license.replaceAll(/[()]/g, '').split(' OR ');
  return offered.some((one) => one.split(' AND ').every((part) => ALLOWED.has(part)));
}

/** All of a `node_modules` folder, those within packages too, by name. */
export function installedPackages(folder: string): readonly InstalledPackage[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === 'package.json' && /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/.test(entry.parentPath))
    .map((entry) => JSON.parse(readFileSync(path.join(entry.parentPath, entry.name), 'utf8')) as Partial<InstalledPackage>)
    .map(({ name = '', version = '', license = '' }) => ({ name, version, license }));
  return found.toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Of the packages whose code is in a build, as its `licences.txt` names them. */
export function bundledPackages(licences: string): readonly InstalledPackage[] {
  return licences.split(`\n${'-'.repeat(80)}\n\n`).map((text) => {
    const [, name = '', version = '', license = ''] = /^(\S+) (\S+): (.+)$/m.exec(text) ?? [];
    return { name, version, license };
  });
}

/** A file that stands in several places counts once. */
export function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const stats = files.map((entry) => statSync(path.join(entry.parentPath, entry.name)));
  return [...new Map(stats.map(({ ino, size }) => [ino, size])).values()].reduce((sum, size) => sum + size, 0);
}
