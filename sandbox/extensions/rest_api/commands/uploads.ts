import { statSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@pith/plain-data';
import { stateFolder } from '@pith/safe-files';
import { type ExtensionContext, Places, z } from 'pith';
import { type ApiRoute, apiRoute } from '../route.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const KEPT_MS = 60 * 60_000;

/** Keeps an archive for `POST /api/skills/install`, which looks into it and installs from it. An upload removes those older than an hour. Here nothing opens it. */
export function uploadRoute(context: Pick<ExtensionContext, 'dataDirectory' | 'clock' | 'use'>): ApiRoute {
  return apiRoute(
    {
      method: 'POST',
      path: '/api/uploads',
      need: 'admin',
      summary: 'Upload a zip archive of skills; its answer is the `from` of POST /api/skills/install',
      upload: ['application/zip'],
      mostBytes: MOST_BYTES,
      result: z.strictObject({ from: z.string() }),
      status: 201,
    },
    async ({ bytes }) => {
      const folder = stateFolder(context.dataDirectory, 'uploads');
      const oldest = context.clock.now() - KEPT_MS;
      for (const name of folder.list()) {
        const found = statSync(path.join(folder.path, name), { throwIfNoEntry: false });
        if (found !== undefined && found.mtimeMs < oldest) folder.remove(name);
      }
      const name = `${sha256(bytes)}.zip`;
      await folder.write(name, bytes);
      // Where the routes of commands begin with relative paths.
      const from = path.relative(context.use(Places).sandbox, path.join(folder.path, name));
      return { status: 201, json: { from: `./${from}` } };
    },
  );
}
