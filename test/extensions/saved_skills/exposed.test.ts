import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveAs, savedKernel, type SavedKernel } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const PLAIN = { system_prompt: 'You help.' };
const files = { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [saved_skills] }\n' };

/** What the model was offered in the last step of a turn as this user. */
async function offered(kernel: SavedKernel, userId: string) {
  kernel.model.add({ text: 'seen' });
  const threadId = `${userId}-${kernel.model.requests.length}`;
  expect((await kernel.pith.run('hi', { agent: 'helper', userId, threadId })).text).toBe('seen');
  return kernel.model.requests.at(-1)?.tools ?? [];
}
const namesFor = async (kernel: SavedKernel, userId: string) => (await offered(kernel, userId)).map(({ name }) => name);
const fileOf = (kernel: SavedKernel) => path.join(kernel.pith.sandbox, 'data/pith.db');

describe('names of exposed skills', () => {
  it('M52 none is that of a tool of the extension, by its name or by another: the extension goes on', async () => {
    const kernel = await savedKernel([], { files });
    await saveAs(kernel, 'bob', 'mine', PLAIN);
    const own = [...(await namesFor(kernel, 'bob')), 'update_status'];
    expect(own).toContain('skill_invoke');
    for (const name of own) {
      expect(await kernel.as('bob', `saved expose mine on --as ${name}`)).toMatchObject({ error: 'name_taken' });
      expect(await saveAs(kernel, 'bob', name, { ...PLAIN, expose_as_chatbot_tool: true })).toMatchObject({ error: 'name_taken' });
    }
    await kernel.as('bob', 'saved expose mine on');
    await saveAs(kernel, 'ada', 'two', PLAIN);
    expect((await kernel.as('ada', 'saved expose two on')).code).toBe(0);
    await kernel.pith.write('files/edit.yml', 'name: update_status\n');
    const rename = ['saved', 'edit', 'mine', '--file', `${kernel.pith.sandbox}/files/edit.yml`];
    expect(await kernel.as('bob', rename)).toMatchObject({ error: 'name_taken' });
    await kernel.restart();
    expect(await namesFor(kernel, 'bob')).toEqual(expect.arrayContaining(['mine', 'skill_invoke']));
  });

  it('M52 two processes that save one name at once cost the second skill its tool, and nothing else', async () => {
    const kernel = await savedKernel([], { files });
    for (const [owner, name] of [
      ['ada', 'one'],
      ['bob', 'two'],
      ['bob', 'three'],
    ] as const) {
      await saveAs(kernel, owner, name, PLAIN);
      await kernel.as(owner, `saved expose ${name} on`);
    }
    rowsIn(fileOf(kernel), "UPDATE saved_skills__skills SET chatbot_tool_name = 'one' WHERE name = 'two' RETURNING id");
    rowsIn(fileOf(kernel), "UPDATE saved_skills__skills SET chatbot_tool_name = 'skill_invoke' WHERE name = 'three' RETURNING id");
    await kernel.restart();
    expect(await namesFor(kernel, 'ada')).toEqual(expect.arrayContaining(['one', 'skill_invoke']));
    const names = await namesFor(kernel, 'bob');
    expect(names).toContain('skill_invoke');
    expect(names).not.toContain('one');
    const found = JSON.stringify(await kernel.pith.kernel.problems());
    expect(found).toContain("'bob/two' is no tool: the name 'one' is that of another");
    expect(found).toContain("'bob/three' is no tool: the name 'skill_invoke' is that of another");
    expect((await kernel.as('bob', 'saved expose two on --as other')).code).toBe(0);
  });

  it('M23 a name that is taken is said to be that of a skill only to those who may see it', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'layoffs', PLAIN);
    await kernel.as('ada', 'saved expose layoffs on --as plan');
    await saveAs(kernel, 'bob', 'mine', PLAIN);
    expect(await kernel.as('bob', 'saved expose mine on --as plan')).toMatchObject({
      error: 'name_taken',
      message: "the tool name 'plan' is taken",
    });
    await kernel.as('ada', 'saved share layoffs public');
    expect((await kernel.as('bob', 'saved expose mine on --as plan')).message).toBe("the tool name 'plan' is that of 'ada/layoffs'");
  });
});
