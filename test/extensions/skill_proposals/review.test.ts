import { describe, expect, it } from 'vitest';
import { BETTER, proposalsKernel } from './proposals-kernel.ts';

describe('a proposal', () => {
  it('P2 is stored as a file for people, and nothing of the skill changes until somebody agrees', async () => {
    const { propose, files, skill, place, list, run, show } = await proposalsKernel();
    const answer = await propose(BETTER);
    expect(answer).toMatchObject({ status: 'open' });
  });
});
