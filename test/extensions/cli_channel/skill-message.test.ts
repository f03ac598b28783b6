import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { agentFile, skillFile } from '../../journeys/sandbox-files.ts';
import { kernelChat, pipe } from './chats.ts';

it('S85 a skill typed with a slash is asked for by a message; a command of the name comes first, an unknown name is an error', async () => {
  const chat = await kernelChat({
    model: scriptedModel([{ text: 'answer' }, { text: 'answer' }]),
    files: {
      'pith.yaml': 'default_agent: main\n',
      'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['skill_registry'] }),
      'skills/letters/SKILL.md': skillFile('letters', 'Writes letters.', 'Write.'),
      'skills/tools/SKILL.md': skillFile('tools', 'Knows tools.', 'Use them.'),
    },
  });
  expect(await pipe(chat, [], { lines: ['/letters to  my landlord', '/letters'] })).toMatchObject({ code: 0, err: '' });
  expect(chat.requests.map(({ input }) => input)).toEqual(['Use the skill `letters`: to  my landlord', 'Use the skill `letters`.']);
  await pipe(chat, [], { lines: ['/tools'] });
  expect(chat.requests).toHaveLength(2);
  expect(await pipe(chat, [], { lines: ['/lettres'] })).toMatchObject({
    code: 1,
    err: expect.stringContaining('unknown command /lettres'),
  });
});
