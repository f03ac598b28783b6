import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { linesOf, startPith, type Folder } from './pith-process.ts';
import { skillFile } from './sandbox-files.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';
import { until } from '../waiting.ts';

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
    expect(text).toMatch(/skills.code-review/u); // the place
    expect(text).toContain('To connect a model, type /setup in a chat, or run: pith setup');
  });
});

describe('a conversation that is open', () => {
  it('S22 sees a skill that is dropped in between two messages', async () => {
    const server = await ownServer();
    server.script({ text: 'first answer' });
    const chat = startPith(['chat', '--lines'], { cwd: folder.path, env: server.env, input: null });
    chat.child.stdin.write('hello\n');
    await expect.poll(() => chat.out()).toContain('first answer');
    const skill = path.join(folder.sandbox, 'skills/dropped');
    await mkdir(skill, { recursive: true });
    await writeFile(path.join(skill, 'SKILL.md'), skillFile('dropped', 'Dropped in while we talked.', 'x'));
    const systems = () => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => String(body.messages[0]?.content));
    let turns = 1;
    // S22: a look at the disk holds for a quarter of a second, so that a message at once may come too early.
    await until(async () => {
      server.script({ text: `answer ${++turns}.` });
      chat.child.stdin.write('again\n');
      await until(() => chat.out().includes(`answer ${turns}.`));
      return systems().at(-1)!.includes('• `dropped` — Dropped in while we talked.');
    });
    chat.child.stdin.end();
    expect((await chat.ended).code).toBe(0);
    expect(systems()[0]).not.toContain('`dropped`');
  });
});
