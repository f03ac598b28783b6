import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOpenAiServer, type ChatBody, type OpenAiServer } from '../fixtures/openai-server.ts';
import type { ScriptedReply } from '../fixtures/scripted-server.ts';
import { allOf, projectFolder, type Folder } from './pith-process.ts';
import { agentFile, extensionFiles } from './sandbox-files.ts';

const SCRIPT = '/usr/bin/script';
const CANARY = 'sk-canary-2718-typed-by-a-person';
const OFTEN = { interval: 20 };

let folder: Folder;
let server: OpenAiServer;
let child: ChildProcessWithoutNullStreams;
let shown: string;
beforeEach(async () => {
  server = await startOpenAiServer();
  folder = await projectFolder({
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
    'pith.yaml': 'default_agent: main\n',
  });
});
afterEach(async () => {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end('\u0004');
  if (child.exitCode === null) await ended;
  await server.close();
  await folder.remove();
});

/** `pith chat` on a terminal of its own. */
function chat(): void {
  const env = {
    PATH: process.env['PATH'],
    PITH_TRUST: '1',
    HOME: folder.path,
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'sk-x',
    PITH_MODEL: 'openai/test',
    TERM: 'xterm',
  };
  child = spawn(SCRIPT, ['-qec', `"${process.execPath}" "${path.resolve('bin/pith')}" chat`, '/dev/null'], { cwd: folder.path, env });
  shown = '';
  let raw = '';
  child.stdout.on('data', (chunk: Buffer) => (shown = closed(stripVTControlCharacters((raw += chunk.toString())))));
}
/** Without spaces: a terminal moves the cursor in place of writing them, and breaks lines where it likes. */
const closed = (text: string) => text.replace(/\s+/gu, '');
async function sees(text: string | RegExp): Promise<void> {
  await expect.poll(() => (typeof text === 'string' ? shown.includes(closed(text)) : text.test(shown)) || shown, OFTEN).toBe(true);
}
const type = (text: string) => child.stdin.write(`${text}\r`);

/** The model, by what it was told last. */
function answerBy(reply: (said: string, steps: number) => ScriptedReply): void {
  const next = ({ messages }: ChatBody): ScriptedReply => {
    server.script(next);
    const at = messages.findLastIndex(({ role }) => role === 'user');
    return reply(JSON.stringify(messages[at]?.content), messages.slice(at).filter(({ role }) => role === 'tool').length);
  };
  server.script(next);
}

describe.runIf(existsSync(SCRIPT))('a chat that stays open on a terminal', () => {
  it('K95 shows that a task has ended, without being asked', async () => {
    answerBy((said, steps) => {
      if (said.includes('count the stars')) return { text: 'There are 9096.' };
      return steps === 0 ? { calls: [{ name: 'submit_task', input: { goal: 'count the stars' } }] } : { text: 'I have begun.' };
    });
    chat();
    await sees('› ');
    type('please count');
    await sees('I have begun.');
    await sees(/Task\w{10}\(countthestars\)isdone:Thereare9096\./u);
    expect(shown.indexOf('isdone')).toBeGreaterThan(shown.indexOf('pleasecount'));
  });

  it('K61 tells that a secret is wanted; it is typed unseen, and neither the model nor any file of the sandbox gets it', async () => {
    answerBy((said, steps) => {
      if (said.includes('greet')) return steps === 0 ? { calls: [{ name: 'greet', input: {} }] } : { text: 'Greeted.' };
      return steps === 0
        ? { calls: [{ name: 'request_secret', input: { name: 'GREETER_KEY', why: 'to say hello' } }] }
        : { text: 'I wait.' };
    });
    chat();
    await sees('› ');
    type('prepare');
    await sees("'main' needs the secret GREETER_KEY: to say hello; give it with: /secrets set GREETER_KEY");
    type('/secrets set GREETER_KEY');
    await sees(/giventoextension:greeterandtonobodyelse\.GREETER_KEY:$/u);
    type(CANARY);
    await sees('Stored GREETER_KEY');
    child.stdin.write('\u001b[A'); // the line before: never the secret
    await sees('› /secrets set GREETER_KEY');
    child.stdin.write('\u0015');
    type('now greet');
    await sees('Greeted.');
    expect(JSON.stringify(server.requests.at(-1)!.body.messages)).toContain('my key is [secret GREETER_KEY]');
    for (const { body } of server.requests) expect(JSON.stringify(body ?? null)).not.toContain(CANARY);
    expect(shown).not.toContain(CANARY);
    expect(await allOf(folder.sandbox)).not.toContain(CANARY);
    expect(JSON.parse(await readFile(path.join(folder.path, '.pith', 'secrets.json'), 'utf8'))).toEqual({
      GREETER_KEY: { value: CANARY, for: ['extension:greeter'] },
    });
  });
});
