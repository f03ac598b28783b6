// The kernel under test: the built one, over a real sandbox, driven by lines of JSON. `node kernel.mjs TESTKIT SANDBOX`
import { createInterface } from 'node:readline';

const [testkit, sandbox] = process.argv.slice(2);
const { scriptedModel, testKernel } = await import(testkit);
const model = scriptedModel();
const pith = await testKernel({ sandbox, isolation: 'process', only: [], model, env: { PATH: process.env.PATH } });
const { host } = pith.kernel;
const turn = { threadId: 'test', turnId: 'turn', agentId: 'main', channelId: 'test', userId: 'tester', correlationId: 'test', input: '' };

const COMMANDS = {
  call: ({ extension, tool }) =>
    host.providers.tools.call(extension, tool, {}, { turn, idempotencyKey: 'key', signal: new AbortController().signal }),
  turn: async () => {
    model.add({ text: 'an answer' });
    const { reason, text } = await pith.run('a message');
    return { reason, text };
  },
  services: () => host.startServices(),
  reload: ({ extension }) => host.extensions.reload(extension),
  doctor: () => pith.kernel.doctor(),
  status: ({ extension }) => host.extensions.show(extension),
  memory: () => process.memoryUsage().rss,
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, command, ...rest } = JSON.parse(line);
    const say = (answer) => process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
    Promise.resolve()
      .then(() => COMMANDS[command](rest))
      .then(
        (value) => say({ value }),
        (error) => say({ error: `${error.code}: ${error.message}` }),
      );
  })
  .on('close', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ id: 0, value: process.pid })}\n`);
