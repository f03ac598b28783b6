import { testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('my_extension loads', async () => {
  await using test = await testKernel({ copyOf: 'sandbox', only: [] });
  const { extensions } = await test.kernel.doctor();
  expect(extensions.find(({ id }) => id === 'my_extension')).toMatchObject({ state: 'active' });
});
