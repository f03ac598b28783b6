import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock } from 'pith/testing';
import { main, manifest } from '../../core/process/extension.ts';
import { serverOf } from '../../places.ts';
import { passed, passing, until } from '../../waiting.ts';
import { editAs, saveAs, savedKernel, type SavedKernel, WITH_WEBHOOKS } from '../saved_skills/saved-kernel.ts';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that answers with these statuses, one after the other, and with the last for ever; `hang`: not at all. */
async function receiver(...statuses: readonly (number | 'hang')[]) {
  const received: Received[] = [];
  const origin = await serverOf(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const status = statuses[Math.min(received.length, statuses.length - 1)] ?? 200;
    received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString() });
    if (status === 'hang') return;
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('the answer');
  });
  return { received, origin, address: `${origin}/hooks/SECRET-PATH` };
}

const settings = (webhooks: object, saved: object = {}) =>
  JSON.stringify({ admins: ['admin'], extensions: { skill_webhooks: webhooks, saved_skills: saved } });
const target = (address: string) => ({ system_prompt: 'You report.', output_target: { kind: 'channel', target: address } });

interface RunView {
  readonly id: string;
  readonly state: string;
  readonly delivery: string;
  readonly delivery_error: string | null;
}

type Options = NonNullable<Parameters<typeof savedKernel>[1]>;

/** A kernel in which results of Ada's skill `report` go to `address`; `origins`: those that the settings allow, of a private network. */
async function reporting(
  address: string,
  script: Parameters<typeof savedKernel>[0],
  origins: readonly string[] = [],
  options: Options = {},
) {
  const clock = fakeClock(Date.now());
  const files = { 'pith.yaml': settings({ private_origins: origins }), ...options.files };
  const kernel = await savedKernel(script, { clock, ...WITH_WEBHOOKS, ...options, files });
  await saveAs(kernel, 'ada', 'report', target(address));
  const newest = async () => ((await kernel.as('ada', 'runs list --limit 1')).json as unknown as readonly RunView[])[0];
  return {
    kernel,
    clock,
    run: async () => (await kernel.as('ada', 'run report --background')).json as unknown as RunView,
    /** The newest run, when its delivery has come so far. */
    delivery: (isSo: (run: RunView) => boolean) =>
      passing(
        clock,
        async () => {
          const run = await newest();
          return run !== undefined && isSo(run) && run;
        },
        500,
      ),
  };
}
const isDelivered = (run: RunView) => run.delivery === 'delivered';
const isRefused = (run: RunView) => run.delivery_error !== null;
const keyOf = async (kernel: SavedKernel) =>
  ((await kernel.as('ada', 'saved webhook result-key report')).json as { signing_key: string }).signing_key;
const logOf = (kernel: SavedKernel) => readFile(`${kernel.pith.sandbox}/data/logs/pith.log`, 'utf8');

/** A port at which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('results that are sent to a webhook', () => {
  it.each([
    ['pith serve', { port: 0 }],
    ['a chat', null],
  ])(
    'M46 under %s they are signed for the reference package, and come again under the same id where they were not taken',
    async (_, serve) => {
      const { received, origin, address } = await receiver(500, 200);
      const { kernel, run, delivery } = await reporting(address, [{ text: 'the report' }], [origin], { serve });
      const key = await keyOf(kernel);
      expect(key).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/u);
      await run();
      const refused = await delivery(isRefused);
      expect(refused).toMatchObject({ state: 'ok', delivery: 'waiting' });
      expect(refused.delivery_error).toBe(
        `the webhook at ${new URL(origin).host} answered 500; it must answer with a status from 200 to 299`,
      );
      const { id } = await delivery(isDelivered);
      expect(received).toHaveLength(2);
      for (const { headers, body, path } of received) {
        expect(path).toBe('/hooks/SECRET-PATH');
        expect(headers).toMatchObject({ 'webhook-id': id, 'content-type': 'application/json' });
        expect(new Webhook(key).verify(body, headers as Record<string, string>)).toEqual({
          type: 'run.finished',
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u),
          data: { run: id, skill: 'ada/report', state: 'ok', text: 'the report' },
        });
      }
      expect(received[0]?.body).toBe(received[1]?.body);
      expect(received[0]?.headers['webhook-signature']).not.toBe(received[1]?.headers['webhook-signature']); // another time
      await kernel.pith.kernel.stop();
      const log = await logOf(kernel);
      expect(log).toContain('the result of a run was not delivered');
      for (const secret of [key, key.slice(6), 'SECRET-PATH']) expect(log).not.toContain(secret);
    },
  );

  it('M46 a key is the owner’s to renew, and the former counts no more', async () => {
    const { received, origin, address } = await receiver(200);
    const { kernel, clock, run, delivery } = await reporting(address, [{ text: 'one' }, { text: 'two' }], [origin]);
    const ofKey = (key: string) => {
      const last = received.at(-1) as Received;
      return () => new Webhook(key).verify(last.body, last.headers as Record<string, string>);
    };
    await run();
    await delivery(isDelivered);
    expect(received[0]?.headers['webhook-signature']).toMatch(/^v1,/u); // by a key that nobody knows
    const former = await keyOf(kernel);
    expect(ofKey(former)).toThrow('No matching signature');
    expect(await kernel.as('bob', 'saved webhook result-key ada/report')).toMatchObject({ error: 'not_found' });
    const key = await keyOf(kernel);
    await run();
    await until(async () => {
      await clock.advance(500);
      return received.length === 2;
    });
    expect(ofKey(former)).toThrow('No matching signature');
    expect(ofKey(key)).not.toThrow();
  });

  it('M46 a private address is refused unless the settings name it, and the run stays ok', async () => {
    const { received, origin, address } = await receiver(200);
    const { run, delivery } = await reporting(address, [{ text: 'the report' }]);
    await run();
    const refused = await delivery(isRefused);
    expect(refused).toMatchObject({ state: 'ok', delivery: 'waiting' });
    expect(refused.delivery_error).toBe(
      `the webhook at ${new URL(origin).host} was not sent the result: 127.0.0.1 is not on the public internet; if it is meant, add ${origin} to extensions.skill_webhooks.private_origins`,
    );
    expect(received).toEqual([]);
  });

  it('M46 a server that does not answer is left after its time, and keeps no other run waiting', async () => {
    const { received, origin, address } = await receiver('hang');
    const { kernel, clock, run: begin } = await reporting(address, [{ text: 'the report' }, { text: 'at once' }], [origin]);
    await saveAs(kernel, 'ada', 'other', { system_prompt: 'You help.' });
    const { id } = await begin();
    await passing(clock, () => received.length === 1, 100);
    expect((await passed(clock, kernel.as('ada', 'run other'), 100)).json).toMatchObject({ state: 'ok', output: 'at once' });
    const view = async () => (await kernel.as('ada', `runs show ${id}`)).json as unknown as RunView;
    expect(await view()).toMatchObject({ state: 'ok', delivery: 'waiting', delivery_error: null });
    const run = await passing(clock, async () => {
      const now = await view();
      return now.delivery_error !== null && now;
    });
    expect(run).toMatchObject({ state: 'ok', delivery: 'waiting' });
    expect(run.delivery_error).toBe(
      `the webhook at ${new URL(origin).host} did not answer within 8 s; let it answer first and work afterwards`,
    );
  });

  it('M46 a redirect is not followed, and a server that is not there is said so', async () => {
    const { received, origin, address } = await receiver(302);
    const gone = 'http://127.0.0.1:1';
    const { kernel, run, delivery } = await reporting(address, [{ text: 'the report' }, { text: 'again' }], [origin, gone]);
    await run();
    expect((await delivery(isRefused)).delivery_error).toContain('answered 302');
    expect(received.map(({ path }) => path)).toEqual(['/hooks/SECRET-PATH']);
    await editAs(kernel, 'ada', 'report', { output_target: { kind: 'channel', target: `${gone}/SECRET-PATH` } });
    await run();
    const unreached = await delivery(({ delivery_error }) => delivery_error !== null && !delivery_error.includes('302'));
    expect(unreached.delivery_error).toBe('the webhook at 127.0.0.1:1 was not reached: connect ECONNREFUSED 127.0.0.1:1');
  });

  it('sends nothing for other extensions: neither their texts, nor results that are not due there', async () => {
    const { received, origin, address } = await receiver(200);
    const sends = {
      ...manifest('sends', { provides: ['tool'], isolation: 'in_process' }),
      ...main(
        'sends',
        `getTools() { return [defineTool({ name: 'send', description: 'd', input: z.object({ key: z.string().optional(), to: z.string() }), async execute({ key, to }) {
           const channel = this.context.find(ChannelProvider).find(({ kinds }) => kinds?.includes('webhook'));
           return channel.deliver({ ...(key && { key }), text: 'their text', kind: 'run' }, to).then(() => 'sent', ({ code }) => code);
         } })].map((tool) => ({ ...tool, execute: tool.execute.bind(this) })); }`,
        "import { ChannelProvider } from 'pith';",
      ),
      'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [sends] }\n',
    };
    const { kernel, run, delivery } = await reporting(address, [{ text: 'the report' }], [origin], { files: sends });
    await run();
    const { id } = await delivery(isDelivered);
    for (const input of [{ to: address }, { to: address, key: id }, { to: `${origin}/other`, key: id }])
      expect(await kernel.pith.kernel.agents.callTool('asker', 'send', input)).toMatchObject({ output: 'not_allowed' });
    expect(received).toHaveLength(1);
  });

  it('a target that no channel delivers to, or that is no address, is refused when it is saved', async () => {
    const kernel = await savedKernel([], WITH_WEBHOOKS);
    for (const [address, error] of [
      ['pigeon:ada', 'channel_unknown'],
      ['https://', 'target_invalid'],
      ['https://ada:word@hooks.example.org/x', 'target_invalid'],
    ] as const) {
      const said = await saveAs(kernel, 'ada', 'report', target(address));
      expect(said).toMatchObject({ error });
      expect(said.message).not.toContain('word@');
    }
    expect((await saveAs(kernel, 'ada', 'report', target('https://hooks.example.org/x'))).error).toBeNull();
  });

  it('M46 the example of the page takes a signed result, and nothing else', async () => {
    const page = readFileSync('docs/saved-skills.md', 'utf8');
    const [, example = ''] = /```js\n([\s\S]*?)```/u.exec(page) ?? [];
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const { kernel, run, delivery } = await reporting(origin, [{ text: 'the report' }], [origin]);
    const child = spawn(process.execPath, ['--input-type=module', '-e', example.replace('8080', String(port))], {
      env: { ...process.env, SIGNING_KEY: await keyOf(kernel) },
    });
    onTestFinished(() => void child.kill());
    let said = '';
    child.stdout.on('data', (part: Buffer) => void (said += part.toString()));
    await until(async () => (await fetch(origin, { method: 'POST', body: '{}' })).status === 401);
    await run();
    const { id } = await delivery(isDelivered);
    await until(() => said !== '');
    expect(said).toBe(`ada/report ${id}: the report\n`);
  });
});
