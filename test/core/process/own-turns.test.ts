import { describe, expect, it } from 'vitest';
import { OwnTurns } from '../../../core/process/own-turns.ts';
import { TURN } from '../kernel/extensions.ts';

describe('the turns that a process may run', () => {
  it('T14 F6: below a turn that it serves, while the call lasts and no longer; what it says of that turn counts for nothing', async () => {
    const turns = new OwnTurns('mine');
    const below = { agent: 'helper', input: 'go', threadId: `${TURN.threadId}/x`, parent: { ...TURN, threadId: 'cli_channel:victim' } };
    const attempt = (request: Parameters<OwnTurns['checked']>[0]) => {
      try {
        return turns.checked(request).parent;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const during = await turns.during(TURN, async () => [
      attempt(below),
      attempt({ ...below, threadId: 'cli_channel:victim/x' }),
      attempt({ ...below, parent: { ...TURN, id: 'forged' } }),
    ]);
    expect(during[0]).toBe(TURN); // the kernel's own
    expect(during.slice(1)).toEqual([
      "the thread 'cli_channel:victim/x' is not one of 'mine'",
      "'mine' serves no call of the turn that it names as parent",
    ]);
    expect(attempt(below)).toBe("'mine' serves no call of the turn that it names as parent");
  });
});
