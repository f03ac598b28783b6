import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatBody } from '../fixtures/openai-server.ts';
import type { ScriptedReply } from '../fixtures/scripted-server.ts';
import { allOf, type Folder } from './pith-process.ts';
import { agentFile, bare, extensionFiles } from './sandbox-files.ts';
import { HAS_TERMINALS, terminalChat } from './terminal-chat.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

const CANARY = 'sk-canary-2718-typed-by-a-person';

let folder: Folder;
let server: OwnServer;
beforeEach(async () => {
  server = await ownServer();
  folder = await ownFolder({
    ...extensionFiles('greeter', {
      provides: ['tool'],
      manifest: { secrets: ['GREETER_KEY'] },
      main: `
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'greet', description: 'Greets.', input: z.object({}), execute: () => 'hello, my key is ' + this.context.getSecret('GREETER_KEY') })];
  }
}
`,
    }),
    'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['task_engine', 'core_tools', 'greeter'] }),
    ...bare(['cli_channel', 'core_tools', 'openai_compatible', 'task_engine'], { default_agent: 'main' }),
  });
});
const chat = () => terminalChat(folder.path, server.env);

/** The model, by what it was told last. */
function answerBy(reply: (said: string, steps: number) => ScriptedReply): void {
  const next = ({ messages }: ChatBody): ScriptedReply => {
    server.script(next);
    const at = messages.findLastIndex(({ role }) => role === 'user');
    return reply(JSON.stringify(messages[at]?.content), messages.slice(at).filter(({ role }) => role === 'tool').length);
  };
  server.script(next);
}

describe.runIf(HAS_TERMINALS)('a chat that stays open on a terminal', () => {
  it('K95 shows that a task has ended, without being asked', async () => {
    answerBy((said, steps) => {
      if (said.includes('count the stars')) return { text: 'There are 9096.' };
      return steps === 0 ? { calls: [{ name: 'submit_task', input: { goal: 'count the stars' } }] } : { text: 'I have begun.' };
    });
    const { sees, shown, type } = chat();
    await sees('› ');
    type('please count\r');
    await sees('I have begun.');
    await sees(/Task\w{10}\(countthestars\)isdone:Thereare9096\./u);
    expect(shown().indexOf('isdone')).toBeGreaterThan(shown().indexOf('pleasecount'));
  });

  it('K61 tells that a secret is wanted; it is typed unseen, and neither the model nor any file of the sandbox gets it', async () => {
    answerBy((said, steps) => {
      if (said.includes('greet')) return steps === 0 ? { calls: [{ name: 'greet', input: {} }] } : { text: 'Greeted.' };
      return steps === 0
        ? { calls: [{ name: 'request_secret', input: { name: 'GREETER_KEY', why: 'to say hello' } }] }
        : { text: 'I wait.' };
    });
    const { sees, shown, type } = chat();
    await sees('› ');
    type('prepare\r');
    await sees("'main' needs the secret GREETER_KEY: to say hello; give it with: /secrets set GREETER_KEY");
    type('/secrets set GREETER_KEY\r');
    await sees(/giventoextension:greeterandtonobodyelse\.GREETER_KEY:$/u);
    type(`${CANARY}\r`);
    await sees('Stored GREETER_KEY');
    type('\u001b[A'); // the line before: never the secret
    await sees('› /secrets set GREETER_KEY');
    type('\u0015');
    type('now greet\r');
    await sees('Greeted.');
    expect(JSON.stringify(server.requests.at(-1)!.body.messages)).toContain('my key is [secret GREETER_KEY]');
    for (const { body } of server.requests) expect(JSON.stringify(body ?? null)).not.toContain(CANARY);
    expect(shown()).not.toContain(CANARY);
    expect(await allOf(folder.sandbox)).not.toContain(CANARY);
    expect(JSON.parse(await readFile(path.join(folder.path, '.pith', 'secrets.json'), 'utf8'))).toEqual({
      version: 1,
      GREETER_KEY: { value: CANARY, for: ['extension:greeter'] },
    });
  });
});
