import { CacheFile, stateFolder } from '@pith/safe-files';
import { expect, it } from 'vitest';
import { folderWith } from '../../places.ts';

function box(name = 'kept') {
  const why: string[] = [];
  const folder = stateFolder(folderWith(), '.cache');
  const file = new CacheFile(folder, name, 1000, { debug: (message) => why.push(message) });
  return { why, folder, file, read: (version: string) => file.read(version, (body) => body) };
}

it('R3 gives the bytes back from the first byte of a buffer; of another version or damaged it gives nothing', async () => {
  const { file, folder, read } = box();
  expect(read('1')).toBeNull();
  for (const text of ['', 'one\ntwo\n', 'a'.repeat(800)]) {
    await file.write('1', Buffer.from(text));
    expect(read('1')?.toString()).toBe(text);
    expect(read('1')!.byteOffset % 8).toBe(0);
    expect(read('2')).toBeNull();
    const whole = folder.read('kept')!;
    for (const damaged of [whole.subarray(1), whole.subarray(0, -1), Buffer.concat([whole, Buffer.from('\n')])]) {
      folder.writeNow('kept', damaged);
      expect(read('1')).toBeNull();
    }
  }
});

it('R3 costs nobody anything where it can be neither read nor written, and says so', async () => {
  const { file, folder, why, read } = box();
  folder.folder('kept', 'in').make();
  await file.write('1', Buffer.from('text'));
  expect(read('1')).toBeNull();
  expect(why).toEqual(['kept was not written', 'kept was not used']);
  expect(file.findings('all is read')).toMatchObject([
    { code: 'state_refused', message: expect.stringMatching(/a folder is in its place, so all is read$/u) },
  ]);
  const long = box('x'.repeat(300));
  long.folder.make();
  expect(long.file.findings('all is read')).toMatchObject([
    { code: 'internal', message: expect.stringMatching(/^ENAMETOOLONG.*, so all is read$/u) },
  ]);
  expect(box().file.findings('all is read')).toEqual([]);
});

it('R3 is not used where its content has another shape than its version says', async () => {
  const { file, why } = box();
  await file.write('1', Buffer.from('text'));
  expect(file.read('1', (body) => JSON.parse(body.toString()) as unknown)).toBeNull();
  expect(why).toEqual(['kept was not used']);
});
