import { describe, expect, it } from 'vitest';
import { MOVES, moved, STATES } from '../../../sandbox/extensions/skill_proposals/proposal/states.ts';

/** What each move does in each state; a dash: it is refused. In the order of MOVES. */
const EXPECTED: Readonly<Record<(typeof STATES)[number], string>> = {
  //          apply    finish   release reject   reopen supersede  expire
  open: 'applying - - rejected - superseded expired',
  stale: 'applying - - rejected - superseded expired',
  applying: '- approved open - - - -',
  approved: '- - - - - - -',
  rejected: '- - - - open - -',
  superseded: '- - - rejected open - -',
  expired: '- - - rejected open - -',
  malformed: '- - - rejected - - -',
};

describe('the table of states and moves', () => {
  for (const state of STATES)
    it(`P21 a proposal that is ${state} has these moves and no others`, () => {
      expect(MOVES.map((move) => moved(state, move) ?? '-').join(' ')).toBe(EXPECTED[state]);
    });

  it('P21 everything that was not approved can be rejected, and what was decided otherwise can be opened again', () => {
    const kept = STATES.filter((state) => state !== 'approved' && state !== 'applying' && state !== 'rejected');
    for (const state of kept) expect(moved(state, 'reject')).toBe('rejected');
    for (const state of ['rejected', 'superseded', 'expired'] as const) expect(moved(state, 'reopen')).toBe('open');
  });
});
