import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { atPrompt, kernelChat } from './chats.ts';

const ESC_ESC = '\u001b[27u\u001b[27u';

describe('branches of a conversation', () => {
  it('U25 Esc Esc brings back a former message; sent, it goes on from there in a conversation of its own, and the other one stays', async () => {
    const model = scriptedModel([{ text: 'One.' }, { text: 'Two.' }, { text: 'Other two.' }, { text: 'Like it.' }]);
    const files = { 'pith.yaml': 'default_agent: main\n', 'agents/main/manifest.yaml': 'id: main\nagent: {}\n' };
    const chat = await kernelChat({ model, clock: fakeClock(), files });
    const ada = await atPrompt(chat);
    await ada.type(ESC_ESC); // nothing was said here yet
    await ada.type('first\r', 'One.', '› ');
    await ada.type('second\r', 'Two.', '› ');
    await ada.type(ESC_ESC, '1  first', '2  second', 'Enter for none: ');
    await ada.type('7\r', "There is no message '7' of yours", 'Enter for none: ');
    await ada.type('2\r', 'Send message 2 as you want it', '/undo', 'edit 2 › second');
    await ada.type('\u0003', '› ');
    await ada.type('/edit 2\r', 'edit 2 › second');
    await ada.type(' try\r', 'goes on from message 2 of', 'Other two.', '› ');
    const [first, branch] = [chat.requests[0]!.threadId, chat.requests[2]!.threadId];
    expect([branch, chat.requests.length]).toEqual([`${first}.2`, 3]);
    const said = (at: number) => model.requests[at]!.messages.map(({ content }) => JSON.stringify(content));
    expect(said(2)).toEqual([...said(0), expect.stringContaining('One.'), expect.stringContaining('second try')]);
    await ada.type('/branch a copy\r', `Conversation ${first}.3 goes on like ${branch}`, '› ');
    await ada.type('third\r', 'Like it.', '› ');
    expect(said(3).slice(0, 3)).toEqual(said(2));
    const threads = await chat.pith.kernel.threads.list(10);
    expect(threads.map(({ id, branchOf, title }) => [id, branchOf, title])).toEqual(
      expect.arrayContaining([
        [first, null, 'first'],
        [branch, first, 'first'],
        [`${first}.3`, branch, 'a copy'],
      ]),
    );
    expect((await chat.pith.kernel.threads.load(first))?.messages).toHaveLength(4);
    await ada.type('\u0004');
    expect(await ada.done).toBe(0);
  });
});
