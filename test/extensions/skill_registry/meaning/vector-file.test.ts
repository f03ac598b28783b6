import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { EmbeddingClient } from '../../../../sandbox/extensions/skill_registry/meaning/embedding-client.ts';
import {
  forgetVectorsIn,
  VectorFile,
  type VectorRecord,
  vectorsIn,
} from '../../../../sandbox/extensions/skill_registry/meaning/vector-file.ts';
import { systemClock } from '@pith/promises';
import { logTo, skillSandbox } from '../skill-sandbox.ts';

const KEY = 'ab'.repeat(32);
const record = (id: string, value = 1): VectorRecord => ({ id, version: `v${value}`, key: KEY, vector: Float32Array.of(value, 2) });

/** A process: what it has in memory, and the file. */
async function processes() {
  const { project, log } = await skillSandbox();
  const dataDirectory = path.join(project, 'data');
  const start = async (model = 'm') => {
    const file = new VectorFile({ folder: vectorsIn(dataDirectory), model, clock: systemClock, logger: logTo(log) });
    const live = new Map(await file.load());
    const add = async (...made: VectorRecord[]) => {
      for (const one of made) live.set(one.id, one);
      await file.append(made, live);
    };
    return { file: file.file, live, add };
  };
  const kept = async (model = 'm') => [...(await start(model)).live.values()].map(({ id, version }) => `${id} ${version}`).sort();
  return { dataDirectory, start, kept, log };
}

it('R4 of vectors that two processes make at the same time none is lost', async () => {
  const { start, kept, log } = await processes();
  const [one, two] = [await start(), await start()];
  await Promise.all([one.add(record('a')), two.add(record('b'))]);
  await two.add(record('c'));
  await one.add(record('d'));
  expect(await kept()).toEqual(['a v1', 'b v1', 'c v1', 'd v1']);
  for (let round = 2; round < 700; round += 10) await one.add(...Array.from({ length: 10 }, (_, at) => record('a', round + at)));
  await two.add(record('b', 2));
  expect(await kept()).toEqual(['a v701', 'b v2', 'c v1', 'd v1']);
  expect((await stat(one.file)).size).toBeLessThan(510 * 80);
  expect(log).toEqual([]);
});

it('R4 what is offered no more goes when the file is written anew, and a file that was lost is made again', async () => {
  const { start, kept } = await processes();
  const one = await start();
  await one.add(record('a'), record('b'));
  one.live.delete('a');
  const two = await start();
  await two.add(...Array.from({ length: 510 }, () => record('c')));
  await one.add(record('d'));
  expect(await kept()).toEqual(['b v1', 'c v1', 'd v1']);
  await rm(one.file);
  await one.add(record('e'));
  expect(await kept()).toEqual(['b v1', 'd v1', 'e v1']);
});

it('R5 what was forgotten is in no file of vectors, of no model, and a process that runs does not bring it back', async () => {
  const { start, kept, dataDirectory } = await processes();
  const [one, other] = [await start(), await start('another')];
  await one.add(record('private', 7));
  await one.add(record('a'), record('private', 8));
  await other.add(record('private', 9), record('a'));
  await forgetVectorsIn({ dataDirectory, clock: systemClock }, new Set(['private']));
  await one.add(record('b'));
  expect([await kept(), await kept('another')]).toEqual([['a v1', 'b v1'], ['a v1']]);
  const folder = vectorsIn(dataDirectory).path;
  for (const name of (await readdir(folder)).filter((each) => each.endsWith('.vectors')))
    expect((await readFile(path.join(folder, name))).includes('private')).toBe(false);
  await forgetVectorsIn({ dataDirectory, clock: systemClock }, null);
  await other.add(record('c'));
  expect([await kept(), await kept('another')]).toEqual([[], ['c v1']]);
});

it.each([
  ['zeros', [0, 0]],
  ['what is no number', [NaN, 1]],
])('R4 a vector of %s is taken for a failure of the model', async (_name, vector) => {
  const log: string[] = [];
  const provider = { extensionId: 'e', embeddingModel: 'm', embed: async () => [[1, 0], vector] };
  const client = new EmbeddingClient({ find: () => [provider as never], clock: systemClock, logger: logTo(log) });
  expect(await client.embed(['a', 'b'], 'document')).toBeNull();
  expect(log).toEqual([expect.stringContaining('skills are found by their words alone for now: the embedding model gave a vector')]);
});
