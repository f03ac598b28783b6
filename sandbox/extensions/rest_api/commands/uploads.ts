import { statSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@pith/plain-data';
import { stateFolder } from '@pith/safe-files';
import { type ExtensionContext, messageOf, PithError, Places, z } from 'pith';
import { type ApiRoute, apiRoute } from '../route.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const KEPT_MS = 60 * 60_000;
/** How each archive that holds a file begins. */
const ZIP = Buffer.of(0x50, 0x4b, 0x03, 0x04);

/** Archives for `POST /api/skills/install`, which looks into them and installs from them. Each goes after an hour. Here nothing opens them. */
export class Uploads {
  constructor(private readonly context: Pick<ExtensionContext, 'dataDirectory' | 'clock' | 'logger' | 'use'>) {}

  route(): ApiRoute {
    return apiRoute(
      {
        method: 'POST',
        path: '/api/uploads',
        need: 'admin',
        summary: 'Upload a zip archive of skills; its answer is the `from` of POST /api/skills/install within an hour',
        upload: ['application/zip'],
        mostBytes: MOST_BYTES,
        result: z.strictObject({ from: z.string() }),
        status: 201,
      },
      async ({ bytes }) => {
        if (!ZIP.equals(bytes.subarray(0, ZIP.length)))
          throw new PithError('archive_invalid', 'the body is not a zip archive with files in it', {
            cure: 'send a zip archive of skills',
          });
        this.#removeOld();
        const folder = this.#folder();
        const name = `${sha256(bytes)}.zip`;
        await folder.write(name, bytes);
        // Where the routes of commands begin with relative paths.
        const from = path.relative(this.context.use(Places).sandbox, path.join(folder.path, name));
        return { status: 201, json: { from: `./${from}` } };
      },
    );
  }

  /** Removes each when its hour is over, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.context;
    while (!signal.aborted) await clock.sleep(this.#triedToRemove(), signal).catch(() => undefined); // it ends
  }

  /** What the folder refuses now is tried again. */
  #triedToRemove(): number {
    try {
      return this.#removeOld();
    } catch (error) {
      this.context.logger.warn('old uploads could not be removed', { reason: messageOf(error) });
      return KEPT_MS;
    }
  }

  /** Milliseconds until the next one may be old. */
  #removeOld(): number {
    const folder = this.#folder();
    const now = this.context.clock.now();
    const left = folder.list().flatMap((name) => {
      const found = statSync(path.join(folder.path, name), { throwIfNoEntry: false });
      if (found === undefined) return [];
      const more = found.mtimeMs + KEPT_MS - now;
      if (more > 0) return [more];
      folder.remove(name);
      return [];
    });
    return Math.min(KEPT_MS, ...left);
  }

  #folder() {
    return stateFolder(this.context.dataDirectory, 'uploads');
  }
}
