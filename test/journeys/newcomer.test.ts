import { beforeEach, describe, expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { linesOf, type Folder } from './pith-process.ts';
import { ownFolder } from './until-test-ends.ts';

let folder: Folder;
beforeEach(async () => void (folder = await ownFolder({ 'pith.yaml': 'default_agent: orchestrator\n' })));

describe('a newcomer without a key or a network', () => {
  it('K80 asks for a review: the librarian finds the skill, reads it, answers from it and says how to connect a model', async () => {
    const { code, out, err } = await pithHere(['chat', '--json', '-p', 'review my extension for best practices'], { cwd: folder.path });
    expect(code, err).toBe(0);
    const events = linesOf(out);
    expect(events[0]).toMatchObject({ type: 'turn-start', model: 'offline/librarian' });
    const calls = events.filter(({ type }) => type === 'tool-call');
    expect(calls.map(({ name }) => name)).toEqual(['list_skills', 'read_skill']);
    expect(calls[1]).toMatchObject({ input: { skill_id: 'code-review' } });
    const text = String(events.at(-1)?.['text']);
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'done' });
    expect(text).toContain('code-review');
    expect(text).toContain('bundled/code-review'); // the place
    expect(text).toContain('To connect a model, type /setup in a chat, or run: pith setup');
  });
});
