import { describe, expect, it } from 'vitest';
import { cureParts } from '@pith/command-line';

describe('a cure', () => {
  it.each([
    ['pith tokens new', null, 'pith tokens new'],
    ['see pith doctor', null, 'pith doctor'],
    ['run in a terminal: pith mcp login x', null, 'pith mcp login x'],
    ['start it with: pith serve', 'start it', 'pith serve'],
    ['make a new one: pith tokens new', 'make a new one', 'pith tokens new'],
    ['correct it, or run: pith extensions reload sick', 'correct it', 'pith extensions reload sick'],
    ['try later, or cancel some: pith runs list --state queued', 'try later, or cancel some', 'pith runs list --state queued'],
    ['keep it, or remove it with pith skills remove x', 'keep it, or remove it', 'pith skills remove x'],
    ['put it back, or forget it (pith extensions allow x)', 'put it back, or forget it', 'pith extensions allow x'],
    ['run: pith doctor, or report it', 'report it', 'pith doctor'],
    ['read it with: pith runs show 7; then try again', 'read it; then try again', 'pith runs show 7'],
    ["see that 'pith skills list' has it", "see that 'pith skills list' has it", null],
    ['run pith trust in that folder, and try again', 'run pith trust in that folder, and try again', null],
    ['wait', 'wait', null],
  ])('W21 %j has its command apart', (cure, text, command) => {
    expect(cureParts(cure)).toEqual({ ...(text && { text }), ...(command && { command }) });
  });
});
