import { expect, it } from 'vitest';
import { kernelCommands, ofKernel } from '@pith/command-line';

const source = (extensionId: string, path: string) => ({
  extensionId,
  getCommands: () => [{ path, description: path, run: async (_: unknown, io: { json(value: string): void }) => io.json(extensionId) }],
});
const signal = new AbortController().signal;

it("only Pith's own commands are found and run, whoever else offers one at their path", async () => {
  const all = [source('other', 'model'), source('kernel', 'model'), source('another', 'more')];
  const kernel = kernelCommands(all);
  expect(ofKernel(all)).toEqual([all[1]]);
  expect(await kernel.find('model')).toMatchObject({ path: 'model' });
  expect(await kernel.find('more')).toBeNull();
  expect((await kernel.run('model', {}, signal)).values).toEqual(['kernel']);
  await expect(kernel.run('more', {}, signal)).rejects.toMatchObject({ code: 'command_unknown' });
});

it('a program without a command line has none', async () => {
  const kernel = kernelCommands([source('other', 'model')]);
  expect(await kernel.find('model')).toBeNull();
  await expect(kernel.run('model', {}, signal)).rejects.toMatchObject({ code: 'command_unknown', cure: 'see: pith --help' });
});
