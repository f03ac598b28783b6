import { PithError, type AgentSpec } from 'pith';
import { describe, expect, it } from 'vitest';
import type { ChatContext } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { fakeChat, kernelCommands, pipe, says, type Chat } from './fakes.ts';

let chat: Chat;

/** A chat whose agent `main` may read the skill `letters`. */
async function chatting(): Promise<Chat> {
  const fake = await fakeChat([says('answer')]);
  const find = () => [
    { extensionId: 'kernel', getCommands: async () => kernelCommands() },
    {
      extensionId: 'skills',
      getCommands: async () => [],
      readableSkills: async ({ id }: AgentSpec) => (id === 'main' ? ['letters', 'tools'] : []),
    },
  ];
  const agents = {
    ...fake.context.agents,
    find: async (id: string) => {
      if (id === 'main') return { id } as AgentSpec;
      throw new PithError('agent_unknown', 'no such agent');
    },
  };
  return (chat = { ...fake, context: { ...fake.context, agents, find } as unknown as ChatContext });
}

describe('a skill typed with a slash', () => {
  it('S85 is asked for by a message; a command of the name comes first, an unknown name is an error', async () => {
    const { requests } = await chatting();
    expect(await pipe(chat, [], { lines: ['/letters to  my landlord', '/letters'] })).toMatchObject({ code: 0, err: '' });
    expect(requests.map(({ input }) => input)).toEqual(['Use the skill `letters`: to  my landlord', 'Use the skill `letters`.']);
    await pipe(chat, [], { lines: ['/tools'] });
    expect(requests).toHaveLength(2);
    expect(await pipe(chat, [], { lines: ['/lettres'] })).toMatchObject({
      code: 1,
      err: expect.stringContaining('unknown command /lettres'),
    });
  });
});
