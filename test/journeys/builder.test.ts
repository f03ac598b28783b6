import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestKernel, TurnOutcome } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../core/cli/index.ts';
import type { ChatBody } from '../fixtures/openai-server.ts';
import type { ScriptedReply } from '../fixtures/scripted-server.ts';
import { kernelOf } from '../places.ts';
import { ownServer, type OwnServer } from './until-test-ends.ts';

let server: OwnServer;
let test: TestKernel;
beforeEach(async () => {
  server = await ownServer();
  test = await kernelOf({ commands: kernelCommands, isolation: 'process', env: server.env });
});

const CITY_TIME = (body: string) => `import { defineTool, toolError, z, type ExtensionContext, type ToolProvider } from 'pith';

const ZONES = new Map([['berlin', 'Europe/Berlin'], ['tokyo', 'Asia/Tokyo']]);

export default class CityTime implements ToolProvider {
  constructor(private readonly context: ExtensionContext) {}

  getTools() {
    return [
      defineTool({
        name: 'get_city_time',
        description: 'Current time in a city.',
        input: z.object({ city: z.string().min(1).meta({ examples: ['Berlin'] }) }),
        effect: 'read',
        timeoutMs: 2000,
        execute: ({ city }) => {
          ${body}
          const timeZone = ZONES.get(city.toLowerCase());
          if (timeZone === undefined) return toolError('unknown_city', 'No time zone is known');
          return { city, time: new Date(this.context.clock.now()).toLocaleTimeString('en-GB', { timeZone }) };
        },
      }),
    ];
  }
}
`;
const MANIFEST =
  'id: city_time\nname: City time\nversion: 1.0.0\ndescription: Tells the time in a city.\nentrypoint: main.ts\nprovides: [tool]\n';

const call = (name: string, input: object): ScriptedReply => ({ calls: [{ name, input }] });
const write = (file: string, content: string) => ({
  name: 'file',
  input: { action: 'write', path: `.staging/extensions/city_time/${file}`, content },
});
const told = (body: ChatBody) => String(body.messages.at(-1)?.content);
const activate = (body: ChatBody) =>
  call('activate_extension', { id: 'city_time', digest: /"digest":"([0-9a-f]{64})"/.exec(told(body))?.[1] });
const handOn = call('builder_agent', { task: 'Make an extension city_time with a tool that tells the time in a city.' });

async function approve(outcome: TurnOutcome): Promise<TurnOutcome> {
  expect(outcome).toMatchObject({ reason: 'awaiting_approval' });
  const [open] = await test.kernel.approvals.list();
  await test.kernel.approvals.answer(open!.id, { answer: 'once', by: 'tester' });
  return test.run('', { input: undefined, resume: true });
}

/** As `test.run`; where nothing holds code that was only staged, a person is asked before its check too, and says yes. */
async function ask(input: string): Promise<TurnOutcome> {
  let outcome = await test.run(input);
  while ((await test.kernel.approvals.list())[0]?.tool === 'extension_builder/check_extension') outcome = await approve(outcome);
  return outcome;
}

describe('building in a conversation', () => {
  it('K73 an extension that was asked for is written, checked, agreed to, and used by the orchestrator; a version that fails in use is taken back by itself, and the chat goes on', async () => {
    await test.kernel.start();
    const build = (main: string) =>
      server.script(
        handOn,
        call('stage_extension', { id: 'city_time', kind: 'tool' }),
        { calls: [write('manifest.yaml', MANIFEST), write('main.ts', main)] },
        call('check_extension', { id: 'city_time' }),
        activate,
      );
    build(CITY_TIME(''));
    const asked = await ask('make an extension that tells the time in a city and let the orchestrator use it');
    const [question] = await test.kernel.approvals.list();
    expect(question).toMatchObject({
      tool: 'extension_builder/activate_extension',
      path: [{ agentId: 'orchestrator' }, { agentId: 'builder_agent' }],
    });
    expect(question?.details).toMatch(/^provides: tool\n[\s\S]*\+export default class CityTime/);
    expect(asked.events).toContainEqual(expect.objectContaining({ type: 'approval-request', agents: ['orchestrator', 'builder_agent'] }));
    expect(existsSync(path.join(test.sandbox, 'extensions/city_time'))).toBe(false);

    server.script({ text: 'city_time is active; its tool is get_city_time.' }, { text: 'Done: ask me for the time in a city.' });
    const built = await approve(asked);
    expect(built).toMatchObject({ reason: 'done', text: 'Done: ask me for the time in a city.' });
    const main = () => readFile(path.join(test.sandbox, 'extensions/city_time/main.ts'), 'utf8');
    expect(await main()).toBe(CITY_TIME(''));

    server.script(call('get_city_time', { city: 'Tokyo' }), (body) => ({ text: `It says ${told(body)}` }));
    const used = await test.run('What time is it in Tokyo?');
    expect(used).toMatchObject({ reason: 'done', text: expect.stringMatching(/It says .*"city":"Tokyo","time":"\d\d:\d\d:\d\d"/) });
    expect(test.kernel.host.extensions.show('city_time')).toMatchObject({ state: 'active', tier: 'process' });

    build(CITY_TIME("if (city === 'Tokyo') process.exit(1);"));
    const changed = await ask('make version 2');
    server.script({ text: 'Active.' }, { text: 'Version 2.' });
    expect(await approve(changed)).toMatchObject({ reason: 'done', text: 'Version 2.' });
    server.script(call('get_city_time', { city: 'Tokyo' }), { text: 'It failed.' });
    expect((await test.run('What time is it in Tokyo?')).results[0]).toMatchObject({ name: 'get_city_time', ok: false });
    await expect.poll(main).toBe(CITY_TIME(''));
    const journal = path.join(test.kernel.settings.data_dir, 'extensions/extension_builder/switches/city_time.json');
    await expect.poll(() => existsSync(journal)).toBe(false);
    server.script(call('get_city_time', { city: 'Tokyo' }), { text: 'There.' });
    expect((await test.run('And now?')).results[0]).toMatchObject({ ok: true });
  }, 180_000);

  // What ends its process, or reaches for the kernel: test/core/probe.
  it('K73 what loops for ever is refused, the builder is told, and the chat goes on', async () => {
    const answers: string[] = [];
    const note = (reply: ScriptedReply) => (request: ChatBody) => {
      answers.push(told(request));
      return reply;
    };
    server.script(
      handOn,
      call('stage_extension', { id: 'city_time', kind: 'tool' }),
      { calls: [write('manifest.yaml', MANIFEST), write('main.ts', CITY_TIME('while (true);'))] },
      call('check_extension', { id: 'city_time' }),
      note(call('activate_extension', { id: 'city_time', digest: 'f'.repeat(64) })),
      note({ text: 'It does not pass.' }),
      { text: 'The builder could not finish it.' },
    );
    const asked = await ask('make an extension that tells the time in a city');
    expect((await test.kernel.approvals.list())[0]?.details).toMatch(/refused|not checked|has not passed|does not pass/i);
    expect(await approve(asked)).toMatchObject({ reason: 'done', text: 'The builder could not finish it.' }); // even a yes runs nothing
    expect(answers[0]).toMatch(/"ok":false/);
    expect(answers[1]).toContain('not_checked');
    expect(await test.kernel.approvals.list()).toEqual([]);
    expect(existsSync(path.join(test.sandbox, 'extensions/city_time'))).toBe(false);
    server.script({ text: 'Still here.' });
    expect(await test.run('are you there?')).toMatchObject({ reason: 'done', text: 'Still here.' });
  }, 120_000);
});
