import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { Uploads } from '../../../sandbox/extensions/rest_api/commands/uploads.ts';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

describe('uploaded archives', () => {
  it.each([
    ['nothing', ''],
    ['a text', 'not an archive'],
    ['zeros', '\0'.repeat(1024)],
    ['an archive without files', `PK\u0005\u0006${'\0'.repeat(18)}`],
  ])('W3 %s is no archive, and nothing is kept', async (_what, body) => {
    const api = await apiKernel();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const headers = { 'content-type': 'application/zip' };
    const answer = await api.request('/api/uploads', { method: 'POST', token, body, headers });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'archive_invalid', cure: expect.anything() } } });
    expect(readdirSync(api.pith.sandbox, { recursive: true }).filter((name) => String(name).endsWith('.zip'))).toEqual([]);
  });

  it('W3 one goes after an hour, whether or not another comes', async () => {
    const dataDirectory = folderWith({ 'uploads/old.zip': 'PK' });
    const clock = fakeClock(Date.now());
    const uploads = new Uploads({ dataDirectory, clock, logger: console as never, use: (() => ({ sandbox: dataDirectory })) as never });
    const ending = new AbortController();
    const running = uploads.run(ending.signal);
    const kept = () => readdirSync(path.join(dataDirectory, 'uploads'));
    expect(kept()).toEqual(['old.zip']);
    await clock.advance(61 * 60_000);
    await until(() => kept().length === 0);
    ending.abort();
    await running;
  });
});
