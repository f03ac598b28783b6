import { existsSync } from 'node:fs';
import path from 'node:path';
import { readRegularFile } from '../discovery/text-file.ts';
import { MAX_SETTINGS_BYTES } from './settings-file.ts';
import { absolutePath, type SettingsOptions } from './settings.ts';

/**
 * Where the settings put the state, as far as a look at their text can tell. The index lies there, and it is what spares the
 * parsing of the settings; whoever opens it by this compares with the settings that were read.
 */
export function likelyDataDirectory({ sandbox, home, env, flags, workingDirectory }: Omit<SettingsOptions, 'index'>): string {
  const given = flags?.data_dir ?? env['PITH_DATA_DIR'];
  if (given) return absolutePath(given, workingDirectory, home);
  for (const file of [path.join(sandbox, 'pith.yaml'), ...(home === undefined ? [] : [path.join(home, '.pith', 'config.yaml')])]) {
    const found = LINE.exec(textOf(file));
    if (found) return absolutePath(found[1] ?? found[2] ?? found[3] ?? '', path.dirname(file), home);
  }
  return path.join(sandbox, 'data');
}

/** As people write it: plain or in quotes, with or without a comment behind it. */
const LINE = /^data_dir:[ \t]+(?:"([^"\\\n]+)"|'([^'\n]+)'|([^\s"'#&*!|>][^#\n]*?))[ \t]*(?:#.*)?$/m;

function textOf(file: string): string {
  if (!existsSync(file)) return ''; // dearer to be told by an error
  try {
    return readRegularFile(file, MAX_SETTINGS_BYTES).toString('utf8');
  } catch {
    return ''; // what is wrong the reading of the settings tells
  }
}
