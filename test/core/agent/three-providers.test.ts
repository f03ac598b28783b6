import { expect, it, onTestFinished } from 'vitest';
import { startAnthropicServer } from '../../fixtures/anthropic-server.ts';
import { png } from '../../fixtures/images.ts';
import { startOpenAiServer } from '../../fixtures/openai-server.ts';
import { STRICT } from '../../fixtures/strict-servers.ts';
import { kernelOf } from '../../places.ts';

/** Ids as each of them makes them, now and then one again. */
const IDS = {
  openai: (at: number) => `call_${'x'.repeat(34)}${at % 10}`.slice(0, 40),
  mistral: (at: number) => `aB3dE6gH${at % 10}`,
  anthropic: (at: number) => `toolu_01_${at}`,
};
/** Names and arguments that models have sent, beside what is right. */
const ODD = [
  { name: 'functions.list_skills', input: {} },
  { name: '', input: {} },
  { name: 'n'.repeat(300), input: { a: 'b\0' } },
  { name: 'list_skills', input: ['no', 'object'] },
  { name: 'read_skill', input: 'no object either' },
  { name: '读取', input: { skill_id: '\ud83d' } },
];

it('V1 a conversation goes around servers with different rules for ids, names and order, with tools in between, and all take it', async () => {
  const [openai, mistral, anthropic] = await Promise.all([
    startOpenAiServer({ refuses: STRICT.openai }),
    startOpenAiServer({ refuses: STRICT.mistral }),
    startAnthropicServer({ refuses: STRICT.anthropic }),
  ]);
  const servers = { openai, mistral, anthropic };
  onTestFinished(async () => void (await Promise.all(Object.values(servers).map((server) => server.close()))));
  const { run, kernel } = await kernelOf({
    env: {
      OPENAI_API_KEY: 'sk-1234567890',
      OPENAI_BASE_URL: openai.url,
      ANTHROPIC_API_KEY: 'ak-1234567890',
      ANTHROPIC_BASE_URL: anthropic.url,
    },
    flags: { providers: { ollama: { base_url: mistral.url } } },
  });
  const models = { openai: 'openai/gpt', mistral: 'ollama/mistral', anthropic: 'anthropic/claude' };
  let ids = 0;
  let turns = 0;
  for (const order of [
    'openai mistral anthropic openai anthropic mistral',
    'anthropic openai mistral',
    'mistral anthropic openai mistral',
  ]) {
    for (const name of order.split(' ') as (keyof typeof models)[]) {
      const id = () => IDS[name]((ids += 1));
      const odd = ODD[turns % ODD.length]!;
      servers[name].script(
        {
          text: '\n\n',
          calls: [
            { id: id(), name: 'list_skills', input: {} },
            { ...odd, id: id() },
          ],
        },
        { text: 'Reading.', calls: [{ id: id(), name: 'read_skill', input: { skill_id: 'code-review' } }] },
      );
      const policy = { model: models[name] };
      // Every third turn ends at its limit, with results that the model never answers.
      const isCut = (turns += 1) % 3 === 0;
      if (!isCut) servers[name].script({ text: `${name} is done. ` });
      const attachments = [{ name: 'p.png', image: { mediaType: 'image/png', data: png().toString('base64') } }];
      const turn = await run(`go on ${turns}`, {
        threadId: order,
        policy: isCut ? { ...policy, limits: { max_turns: 2 } } : policy,
        attachments,
      });
      expect([order, name, turn.error?.code, turn.reason]).toEqual([
        order,
        name,
        ...(isCut ? ['limit_reached', 'limit'] : [undefined, 'done']),
      ]);
    }
    expect(await kernel.agents.checkThread(order)).toEqual({ faults: [], repaired: false });
  }
});

it('V1 the ids of a server go back to it as they came, also after another answered', async () => {
  const [kimi, other] = await Promise.all([startOpenAiServer(), startOpenAiServer({ refuses: STRICT.openai })]);
  onTestFinished(async () => void (await Promise.all([kimi.close(), other.close()])));
  const { run } = await kernelOf({
    env: { OPENAI_API_KEY: 'sk-1234567890', OPENAI_BASE_URL: kimi.url },
    flags: { providers: { ollama: { base_url: other.url } } },
  });
  const step = (id: string) => [{ calls: [{ id, name: 'list_skills', input: {} }] }, { text: 'Done.' }];
  kimi.script(...step('functions.list_skills:0'), ...step('functions.list_skills:1'));
  other.script(...step('call_a'));
  for (const model of ['openai/kimi-k2', 'ollama/other', 'openai/kimi-k2'])
    expect((await run('hi', { threadId: 't', policy: { model } })).error).toBeUndefined();
  const idsOf = (server: typeof kimi) =>
    server.requests.at(-1)!.body.messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
  expect(idsOf(kimi)).toEqual(['functions.list_skills:0', expect.stringMatching(/^[a-zA-Z0-9]{9}$/u), 'functions.list_skills:1']);
  expect(idsOf(other)).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/u), 'call_a']);
});

it.each([
  ['images', { message: 'No endpoints found that support image input', refused: /image_url|"type":"image"/u }],
  ['ids that it gave itself', { message: 'Tool call id was call_12 but must be a-z, A-Z, 0-9, with a length of 9.', refused: /call_12/u }],
])('V1 V11 a server that refuses %s is asked once more without them', async (_, { message, refused }) => {
  const refuses = (body: unknown) => (refused.test(JSON.stringify(body)) ? message : null);
  const [openai, anthropic] = await Promise.all([startOpenAiServer({ refuses }), startAnthropicServer({ refuses })]);
  onTestFinished(async () => void (await Promise.all([openai.close(), anthropic.close()])));
  const { run } = await kernelOf({
    env: {
      OPENAI_API_KEY: 'sk-1234567890',
      OPENAI_BASE_URL: openai.url,
      ANTHROPIC_API_KEY: 'ak-1234567890',
      ANTHROPIC_BASE_URL: anthropic.url,
    },
  });
  const attachments = [{ name: 'p.png', image: { mediaType: 'image/png', data: png().toString('base64') } }];
  for (const [model, server] of [['openai/m', openai] as const, ['anthropic/m', anthropic] as const]) {
    server.script({ calls: [{ id: 'call_12', name: 'list_skills', input: {} }] }, { text: 'Fine.' }, { text: 'And on.' });
    for (const input of ['look', 'on'])
      expect((await run(input, { threadId: model, policy: { model }, attachments })).error).toBeUndefined();
  }
});
