import { createHmac } from 'node:crypto';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { namedAddresses, readAllowList } from '../../../sandbox/extensions/skill_webhooks/allow-list.ts';
import { clientAddress } from '../../../sandbox/extensions/http/safety.ts';
import { fakeClock } from 'pith/testing';
import { collectSpans } from '../../span-collector.ts';
import { passing, until } from '../../waiting.ts';
import { words } from '../../words.ts';
import { saveAs, savedKernel, type SavedKernel, WITH_WEBHOOKS } from '../saved_skills/saved-kernel.ts';

const SKILL = { system_prompt: 'You greet.', initial_message: 'Greet {{ who }}', input_schema: [{ name: 'who', required: true }] };

const HAS_PROGRAMS = ['bash', 'curl', 'openssl'].every((program) => spawnSync(program, ['--version']).error === undefined);

interface Enabled {
  readonly address: string;
  readonly signing_key: string;
}

/** A served kernel with the skill `greet` of Ada, its webhook enabled. */
async function served(script: Parameters<typeof savedKernel>[0] = [], options: Parameters<typeof savedKernel>[1] = {}) {
  let port = 0;
  const kernel = await savedKernel(script, {
    ...WITH_WEBHOOKS,
    ...options,
    serve: { port: 0 },
    onKernel(events) {
      port = 0;
      events.handle('service.ready', ({ text }) => void (port = Number(/:(\d+);/u.exec(text)?.[1])));
    },
  });
  await saveAs(kernel, 'ada', 'greet', SKILL);
  const { address, signing_key } = (await kernel.as('ada', 'saved webhook enable greet')).json as never as Enabled;
  await until(() => port > 0);
  const post = async (body: string, headers: Readonly<Record<string, string>> = {}, path = address) => {
    await until(() => port > 0);
    return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers });
  };
  return { kernel, address, key: signing_key, post, port: () => port };
}

function signed(key: string, body: string, id: string, at = Date.now()): Readonly<Record<string, string>> {
  const signature = new Webhook(key).sign(id, new Date(at), body);
  return { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': signature };
}

const ended = async (kernel: SavedKernel, id: string) =>
  until(async () => {
    const run = (await kernel.as('ada', `runs show ${id}`)).json as { state: string } | null;
    return run !== null && run.state !== 'queued' && run.state !== 'running' && run;
  });

describe('webhooks', () => {
  it('U51 a run is in the trace of the request that asked for it', async () => {
    const spans = collectSpans();
    const { kernel, key, post } = await served([{ text: 'Hello Ada' }]);
    const body = JSON.stringify({ who: 'Ada' });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const answer = await post(body, { ...signed(key, body, 'msg_1'), traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    await ended(kernel, ((await answer.json()) as { run: string }).run);
    const inTrace = spans.filter((span) => span.traceId === traceId).map(({ name }) => name.split(' ')[0]);
    expect(inTrace).toEqual(expect.arrayContaining(['process', 'invoke_agent', 'chat']));
  });

  it('M69 M70 M72 M76 M88 a request signed by the reference package starts a run as the owner; one that comes again is told that run and starts none, also after a restart', async () => {
    const { kernel, key, post, address } = await served([{ text: 'Hello Ada' }]);
    expect(address).toMatch(/^\/webhooks\/[0-9a-f]{64}$/u);
    const body = JSON.stringify({ who: 'Ada' });
    const headers = signed(key, body, 'msg_1');
    const answer = await post(body, headers);
    expect(answer.status).toBe(202);
    const { run } = (await answer.json()) as { run: string };
    expect(await ended(kernel, run)).toMatchObject({
      state: 'ok',
      output: 'Hello Ada',
      cause: 'webhook',
      user: 'ada',
      inputs: { who: 'Ada' },
    });
    const again = async (as: Readonly<Record<string, string>>) => {
      const answered = await post(body, as);
      return [answered.status, await answered.json()];
    };
    const sameRun = [202, { run }];
    expect(await again(headers)).toEqual(sameRun); // such as one whose answer was lost
    expect(await again(signed(key, body, 'msg_1', Date.now() + 60_000))).toEqual(sameRun); // as senders repeat it: a new time, signed anew
    await kernel.restart();
    expect(await again(headers)).toEqual(sameRun);
    expect((await post(body, signed(key, body, 'msg_1', Date.now() - 301_000))).status).toBe(401); // an old signature, of a request that came
    expect((await kernel.as('ada', 'runs list')).json).toHaveLength(1);
    expect((await kernel.as('ada', 'saved show greet')).json).not.toHaveProperty('webhook_secret');
  });

  it('M70 M72 unknown, other methods, skew, flipped bytes, no signature, wrong inputs', async () => {
    const { kernel, key, post, address, port } = await served();
    const body = JSON.stringify({ who: 'Ada' });
    expect((await post(body, signed(key, body, 'a'), `/webhooks/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await post(body, signed(key, body, 'a'), '/webhooks/short')).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port()}${address}`)).status).toBe(405);
    expect((await post(body)).status).toBe(401);
    expect((await post(body, signed(key, body, 'b', Date.now() - 301_000))).status).toBe(401);
    expect((await post(body.replace('Ada', 'Adb'), signed(key, body, 'c'))).status).toBe(401);
    expect((await post('{"x": 1}', signed(key, '{"x": 1}', 'd'))).status).toBe(400);
    expect((await post('[]', signed(key, '[]', 'e'))).status).toBe(400);
    const long = JSON.stringify({ who: 'x'.repeat(129 * 1024) });
    expect((await post(long, signed(key, long, 'f'))).status).toBe(413);
    expect((await kernel.as('ada', 'runs list')).json).toEqual([]);
    await kernel.as('ada', 'saved webhook disable greet');
    expect((await post(body, signed(key, body, 'g'))).status).toBe(404);
  });

  it.skipIf(!HAS_PROGRAMS)('M72 the example of the page, with curl and openssl, starts a run (needs bash, curl and openssl)', async () => {
    const { kernel, key, address, port } = await served([{ text: 'Hello Ada' }]);
    const page = readFileSync('docs/saved-skills.md', 'utf8');
    const [, example = ''] = /```console\n(SIGNING_KEY=[\s\S]*?)```/u.exec(page) ?? [];
    const filled = example.replace('whsec_…', key).replace('http://127.0.0.1:7484/…', `http://127.0.0.1:${port()}${address}`);
    expect(filled).not.toContain('…');
    const { stdout } = await promisify(execFile)('bash', ['-c', filled.replace('curl ', 'curl -s ')]);
    expect(await ended(kernel, (JSON.parse(stdout) as { run: string }).run)).toMatchObject({ state: 'ok', inputs: { who: 'Ada' } });
  });

  it('M63 M64 X-Pith-Priority makes it more urgent, within what the owner may use', async () => {
    const { kernel, key, post } = await served([{ text: 'one' }, { text: 'two' }]);
    const body = JSON.stringify({ who: 'Ada' });
    const start = async (id: string, priority: string) => {
      const { run } = (await (await post(body, { ...signed(key, body, id), 'x-pith-priority': priority })).json()) as { run: string };
      return ((await ended(kernel, run)) as never as { priority: number }).priority;
    };
    expect([await start('a', '3'), await start('b', '99')]).toEqual([3, 5]);
  });

  it('M71 M73 M74 a new address and key at once; signatures forced by an administrator; a list without a valid line admits nobody', async () => {
    const { kernel, key, post, address } = await served([{ text: 'one' }, { text: 'two' }]);
    const again = (await kernel.as('ada', 'saved webhook regenerate greet')).json as never as Enabled;
    const body = JSON.stringify({ who: 'Ada' });
    expect((await post(body, signed(key, body, 'a'))).status).toBe(404);
    expect(again.address).not.toBe(address);
    await kernel.as('ada', 'saved webhook require-signature greet off');
    expect((await post(body, {}, again.address)).status).toBe(202);
    expect(await kernel.as('ada', 'saved webhook require-signature greet forced')).toMatchObject({ error: 'not_allowed' });
    await kernel.as('admin', 'saved webhook require-signature ada/greet forced');
    expect(await kernel.as('ada', 'saved webhook require-signature greet off')).toMatchObject({ error: 'not_allowed' });
    expect((await post(body, {}, again.address)).status).toBe(401);
    expect(await kernel.as('ada', 'saved webhook require-signature greet on --older yes')).toMatchObject({ error: 'usage' });
    await kernel.as('ada', 'saved webhook require-signature greet on --older on');
    const hex = createHmac('sha256', Buffer.from(again.signing_key.slice(6), 'base64'))
      .update(body)
      .digest('hex');
    expect((await post(body, { 'x-hub-signature-256': `sha256=${hex}` }, again.address)).status).toBe(202);
    // S9 its signature says nothing of when: the same body starts one run a day, however often it comes (two runs in all, below).
    expect((await post(body, { 'x-hub-signature-256': `sha256=${hex}` }, again.address)).status).toBe(202);
    await kernel.as('ada', 'saved webhook require-signature greet --older yes'); // refused, and nothing is switched off
    expect((await kernel.as('ada', 'saved webhook require-signature greet')).json).toMatchObject({ legacy_signature: true });
    // W13 What an allow list would admit is shown before it is saved.
    expect((await kernel.as('ada', 'saved webhook allow greet 192.0.2.77/23 2001:db8::/126 198.51.100.7 --check')).json).toEqual({
      admits: [
        { range: '192.0.2.0/23', first: '192.0.2.0', last: '192.0.3.255' },
        { range: '2001:db8::/126', first: '2001:db8::', last: '2001:db8::3' },
        { range: '198.51.100.7', first: '198.51.100.7', last: '198.51.100.7' },
      ],
    });
    expect((await kernel.as('ada', 'saved show greet')).json).toMatchObject({ webhook_ip_allowlist: '' });
    expect((await kernel.as('ada', 'saved webhook allow greet 192.0.2.0/24')).code).toBe(0);
    expect((await post(body, signed(again.signing_key, body, 'z'), again.address)).status).toBe(403);
    expect(await kernel.as('ada', 'saved webhook allow greet 300.1.1.1')).toMatchObject({
      error: 'allow_list_invalid',
      message: expect.stringContaining(': 300.1.1.1'),
    });
    await expect
      .poll(async () => ((await kernel.as('ada', 'runs list')).json as readonly { state: string }[]).map(({ state }) => state))
      .toEqual(['ok', 'ok']);
  });

  it('M72 M76 what is refused, or comes again, uses up nothing of the minute; new requests above the limit are answered 429', async () => {
    const clock = fakeClock(Date.now());
    const { kernel, key, post } = await served(
      ['a', 'c', 'd', 'e', 'f'].map((text) => ({ text })),
      { clock, files: { 'pith.yaml': 'admins: [admin]\nextensions: { skill_webhooks: { most_per_minute: 3 } }\n' } },
    );
    const body = JSON.stringify({ who: 'Ada' });
    const statuses = async (times: number, headers: Readonly<Record<string, string>>, text = body) =>
      (await Promise.all(Array.from({ length: times }, () => post(text, headers)))).map(({ status }) => status).sort();
    const at = clock.now();
    const a = signed(key, body, 'a', at);
    expect(await statuses(1, a)).toEqual([202]);
    expect(await statuses(5, a)).toEqual([202, 202, 202, 202, 202]);
    expect(await statuses(5, {})).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(5, { ...a, 'webhook-id': 'b' })).toEqual([401, 401, 401, 401, 401]);
    for (const wrong of ['{"x": 1}', '[]']) {
      const headers = signed(key, wrong, 'wrong inputs count once, too', at);
      expect(await statuses(5, headers, wrong)).toEqual([400, 400, 400, 400, 400]);
    }
    expect(await statuses(1, signed(key, body, 'c', at))).toEqual([202]);
    expect(await statuses(1, a)).toEqual([202]);
    const refused = await post(body, signed(key, body, 'd', at));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    await clock.advance(60_000);
    expect(await statuses(1, signed(key, body, 'd', clock.now()))).toEqual([202]);
    expect(await statuses(4, signed(key, body, 'e', clock.now()))).toEqual([202, 202, 202, 202]);
    expect(await statuses(1, signed(key, body, 'f', clock.now()))).toEqual([202]);
    expect(await statuses(1, signed(key, body, 'g', clock.now()))).toEqual([429]);
    await passing(clock, async () => {
      const runs = (await kernel.as('ada', 'runs list')).json as readonly { state: string }[];
      return runs.length === 5 && runs.every(({ state }) => state === 'ok');
    });
  });

  it('M73 M76 where no signature is required, a flood of unsigned requests starts no more runs than the minute allows', async () => {
    const { kernel, post } = await served([{ text: 'one' }, { text: 'two' }], {
      files: { 'pith.yaml': 'admins: [admin]\nextensions: { skill_webhooks: { most_per_minute: 2 } }\n' },
    });
    await kernel.as('ada', 'saved webhook require-signature greet off');
    const answers = await Promise.all(Array.from({ length: 6 }, () => post('{"who": "Ada"}')));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 429, 429, 429, 429]);
    for (const answer of answers.filter(({ status }) => status === 202)) {
      const { run } = (await answer.json()) as { run: string };
      expect(await ended(kernel, run)).toMatchObject({ state: 'ok' });
    }
    expect((await kernel.as('ada', 'runs list')).json).toHaveLength(2);
  });

  it('M74 M75 addresses of both versions, and whose X-Forwarded-For is believed', () => {
    expect(readAllowList('').admits('198.51.100.7')).toBe(true);
    expect(readAllowList('nonsense').admits('198.51.100.7')).toBe(false);
    const list = readAllowList('198.51.100.0/24\n2001:db8::/32\nwrong\n10.0.0.1');
    expect(
      ['198.51.100.7', '::ffff:198.51.100.7', '2001:db8::1', '10.0.0.1', '10.0.0.2', '2001:db9::1'].map((at) => list.admits(at)),
    ).toEqual([true, true, true, true, false, false]);
    expect(clientAddress('198.51.100.7', '10.9.9.9', [])).toBe('198.51.100.7');
    expect(clientAddress('127.0.0.1', '10.9.9.9, 203.0.113.5', ['127.0.0.1'])).toBe('203.0.113.5');
    expect(clientAddress('::ffff:127.0.0.1', 'evil, 203.0.113.5', ['127.0.0.0/8', '203.0.113.5'])).toBe('203.0.113.5');
  });

  it('S9 addresses and ranges are kept in one form, and what says more, or not all, is none', () => {
    const kept = {
      '192.0.2.7': '192.0.2.7',
      '192.0.2.0/24': '192.0.2.0/24',
      '192.0.2.77/24': '192.0.2.0/24',
      '192.0.2.255/25': '192.0.2.128/25',
      '0.0.0.0/0': '0.0.0.0/0',
      '192.0.2.7/32': '192.0.2.7/32',
      '2001:DB8:0::1/32': '2001:db8::/32',
      '::/0': '::/0',
      '::ffff:192.0.2.9/120': '192.0.2.0/24',
      ' 192.0.2.7 ': '192.0.2.7',
    };
    expect(namedAddresses(Object.keys(kept))).toEqual({ ranges: [...new Set(Object.values(kept))], wrong: [] });
    const wrong = ['192.0.2.0/ 24', '192.0.2.7 # mine', '# all', '192.0.2.7\n192.0.2.8'].concat(
      words('0/0 0 192.0.2.0/024 192.0.2.0/33 192.0.2/24 192.0.02.0/24 0300.0.2.1 0xc0000207 192.0.2.0/+4'),
      words('192.0.2.7,192.0.2.8 ::/129 ::ffff:0:0/95 192.0.2.0/ /24 192.0.2.0/255.255.255.0 *'),
    );
    expect(namedAddresses(wrong)).toEqual({ ranges: [], wrong });
    for (const text of ['0/0', '192.0.2.0/024']) expect(readAllowList(text).admits('192.0.2.7')).toBe(false); // as lists were kept before
  });

  it('S5 where too many runs wait, one more is answered 503 and when to come again; the same request starts it later', async () => {
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const first = () => held.then(() => ({ text: 'one' }));
    const { kernel, key, post } = await served([first, { text: 'two' }, { text: 'three' }], {
      files: { 'pith.yaml': 'admins: [admin]\nextensions: { saved_skills: { most_queued: 1, lanes: { skill-default: { slots: 1 } } } }\n' },
    });
    const body = JSON.stringify({ who: 'Ada' });
    const states = async () => ((await kernel.as('ada', 'runs list')).json as readonly { state: string }[]).map(({ state }) => state);
    expect((await post(body, signed(key, body, 'a'))).status).toBe(202);
    await until(async () => (await states())[0] === 'running');
    expect((await post(body, signed(key, body, 'b'))).status).toBe(202);
    const third = await post(body, signed(key, body, 'c'));
    expect([third.status, third.headers.get('retry-after'), await third.json()]).toEqual([
      503,
      '60',
      { error: { code: 'limit_reached', message: 'no more runs may wait in this lane than 1' } },
    ]);
    expect(await states()).toEqual(['queued', 'running']);
    goOn();
    await until(async () => (await states()).every((state) => state === 'ok'));
    expect((await post(body, signed(key, body, 'c'))).status).toBe(202);
    await until(async () => (await states()).join() === 'ok,ok,ok');
  });
});
