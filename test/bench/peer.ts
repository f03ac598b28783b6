import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { put } from './places.ts';

/** How another program sends one message: `{"argv": ["/…/cli.js", "-p", "hi"], "files": {"settings.json": "… {url} …"}}`; the files go into a home of its own. */
const peerSchema = z.strictObject({ argv: z.array(z.string()).min(1), files: z.record(z.string(), z.string()).default({}) });

export interface Peer {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The program that the file at PITH_BENCH_PEER describes; null where none is given. `{url}` stands for the address of the server. */
export async function openPeer(folder: string, url: string): Promise<Peer | null> {
  const file = process.env['PITH_BENCH_PEER'];
  if (file === undefined) return null;
  const { argv, files } = peerSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const home = path.join(folder, 'peer');
  for (const [name, text] of Object.entries(files)) await put(path.join(home, name), text.replaceAll('{url}', url));
  return { argv, env: { HOME: home } };
}
