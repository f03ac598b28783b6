import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { folderWith, kernelOf, serverOf } from '../../places.ts';
import type { TestKernel } from 'pith/testing';
import { type CommandIO, SetupProvider } from 'pith';

const KEY = 'sk-right';

/** A server with the models API; `key`: the only one that it takes. */
async function modelServer(models: readonly string[], key: string | null = KEY): Promise<string> {
  const server = createServer((request, response) => {
    const ok = key === null || request.headers.authorization === `Bearer ${key}`;
    response.writeHead(ok ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(ok ? { data: models.map((id) => ({ id })) } : { error: { message: 'no' } }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const OLLAMA_OFF = 'providers: { ollama: { base_url: "http://127.0.0.1:9/v1" } }\n';

/** A person who gives these answers in this order. */
async function person(kernel: TestKernel, answers: readonly string[], typed: string[] = []) {
  const asked: { readonly question: string; readonly hidden: boolean }[] = [];
  const said: string[] = [];
  const left = [...answers];
  const io: CommandIO = {
    print: (text) => void said.push(text),
    error: (text) => void said.push(text),
    json: () => undefined,
    ask: async (question, { secret = false } = {}) => {
      asked.push({ question, hidden: secret });
      const answer = left.shift() ?? null;
      if (answer !== null) typed.push(answer);
      return answer;
    },
    input: { async *[Symbol.asyncIterator]() {} },
    interactive: true,
    wantsJson: false,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory: '/',
    userId: 'local',
  };
  const command = (await kernel.kernel.host.providers.commands.of('setup')).find(({ path: name }) => name === 'setup');
  const code = await command?.run({ arguments: {}, options: {} }, io, new AbortController().signal);
  return { code, asked, said: said.join('\n') };
}

const numberOf = (said: string, title: string) => new RegExp(`^ +(\\d+) +${title}`, 'mu').exec(said)?.[1] ?? '';

async function world(settings = OLLAMA_OFF) {
  const home = folderWith();
  const kernel = await kernelOf({ home, commands: kernelCommands, files: { 'pith.yaml': settings } });
  const list = (await person(kernel, [])).said;
  return {
    home,
    kernel,
    place: (title: string) => numberOf(list, title),
    settings: () => readFileSync(path.join(kernel.sandbox, 'pith.yaml'), 'utf8'),
  };
}

it('U34 asks for provider, address, key and model, checks the key at once, and writes when all is known', async () => {
  const url = await modelServer(['small', 'large']);
  const { home, kernel, place, settings } = await world();
  const { code, asked, said } = await person(kernel, [place('Another server'), url, 'sk-wrong', KEY, 'larg', 'large']);
  expect(code).toBe(0);
  expect(asked.map(({ question }) => question.replace(/\[.*/u, '').trim())).toEqual([
    'Provider',
    'Its address, such as http://127.0.0.1:1234/v1:',
    `Key for ${new URL(url).host} (not shown):`,
    `Key for ${new URL(url).host} (not shown):`,
    'Model',
    'Model',
  ]);
  expect(asked.filter(({ hidden }) => hidden)).toHaveLength(2);
  expect(said).toContain('refused the key (status 401)');
  expect(said).toContain("No 'larg' here (did you mean 'large'?)");
  const prefix = `local-${new URL(url).port}`;
  const variable = `LOCAL_${new URL(url).port}_API_KEY`;
  expect(said).toContain(`Connected: ${prefix}/large answers from now on`);
  expect(settings()).toContain(`base_url: ${url}`);
  expect(settings()).toContain(`api_key_env: ${variable}`);
  expect(settings()).toContain(`default: ${prefix}/large`);
  expect(settings()).not.toContain(KEY);
  expect(JSON.parse(readFileSync(path.join(home, '.pith/secrets.json'), 'utf8'))).toEqual({
    version: 1,
    [variable]: { value: KEY, for: [`provider:${prefix} ${new URL(url).origin}`] },
  });
  expect((await kernel.kernel.router.choose()).ref).toBe(`${prefix}/large`);
});

it('U34 asks for no key where the server wants none, and finds Ollama by itself', async () => {
  const url = await modelServer(['qwen3'], null);
  const { kernel, settings } = await world(`providers: { ollama: { base_url: "${url}" } }\n`);
  const { code, asked, said } = await person(kernel, ['1', '1']);
  expect(said).toContain(`1  Ollama on this machine (found on ${new URL(url).host})`);
  expect({ code, questions: asked.length }).toEqual({ code: 0, questions: 2 });
  expect(settings()).toContain('default: ollama/qwen3');
});

it('U34 takes the first of two offers with the name that was typed, and does not mean a name by itself', async () => {
  const { kernel } = await world();
  const { asked, said } = await person(kernel, ['openia', 'openai']);
  expect(said).toContain("No 'openia' here (did you mean 'openai'?)");
  expect(asked.at(-1)?.question).toBe('Key for OpenAI (not shown):');
});

it('U34 asks for no key that is in the environment already', async () => {
  const url = await modelServer(['one']);
  const kernel = await kernelOf({
    commands: kernelCommands,
    env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url },
    files: { 'pith.yaml': OLLAMA_OFF },
  });
  const place = numberOf((await person(kernel, [])).said, 'OpenAI$');
  const { code, asked } = await person(kernel, [place, 'one']);
  expect({ code, hidden: asked.filter(({ hidden }) => hidden) }).toEqual({ code: 0, hidden: [] });
});

it.each([
  ['OpenAI', 'OPENAI_BASE_URL', 'authorization', 'openai_compatible'],
  ['Anthropic (Claude)', 'ANTHROPIC_BASE_URL', 'x-api-key', 'anthropic'],
])('T5 no key is asked for %s that would be sent to the address of the environment', async (title, variable, header, id) => {
  const keys: unknown[] = [];
  const url = await serverOf((request, response) => {
    keys.push(request.headers[header]);
    response.writeHead(request.headers[header] === undefined ? 401 : 200, { 'content-type': 'application/json' });
    response.end('{"data":[{"id":"one"}]}');
  });
  const kernel = await kernelOf({ commands: kernelCommands, env: { [variable]: url }, files: { 'pith.yaml': OLLAMA_OFF } });
  const place = numberOf((await person(kernel, [])).said, `${title.replace(/[()]/gu, '\\$&')}$`);
  const typed: string[] = [];
  await expect(person(kernel, [place, KEY, ''], typed)).rejects.toMatchObject({
    message: expect.stringMatching(`^${variable} is set to ${url}, where a key for api\\.\\w+\\.com would be sent$`),
    cure: `unset ${variable} first, or set up what is there: pith setup ${id}`,
  });
  expect(typed).toEqual([place]);
  expect(keys.filter((key) => key !== undefined)).toEqual([]);
  const elsewhere = kernel.command(['setup', id, '--set', 'base_url=https://elsewhere.example/v1']);
  await expect(elsewhere).rejects.toMatchObject({
    message: `${variable} is set to ${url}, which overrides an address in the settings`,
    cure: `unset ${variable} first`,
  });
  expect((await kernel.command(['setup', id])).text).toContain(`${url}, as ${variable} says`);
});

it.each([
  ['OpenAI', 'openai', 'openai_compatible', ['gpt-x']],
  ['Anthropic \\(Claude\\)', 'anthropic', 'anthropic', ['claude']],
])('T5 a key for %s is kept for no address that the settings name, wherever they name it', async (title, prefix, id, models) => {
  const variable = `${prefix.toUpperCase()}_BASE_URL`;
  const usual = await serverOf((_, response) => response.end(JSON.stringify({ data: models.map((name) => ({ id: name })) })));
  const other = 'base_url: http://127.0.0.1:8/v1';
  const settings = (text: string) => `providers:\n  ollama: { base_url: "http://127.0.0.1:9/v1" }\n${text}`;
  const env = { [`${prefix.toUpperCase()}_API_KEY`]: KEY, [variable]: usual };
  const block = `extensions:\n  ${id}: { ${other} }\n`;
  const own = await kernelOf({ commands: kernelCommands, env, files: { 'pith.yaml': settings(`  ${prefix}: { ${other} }\n${block}`) } });
  const place = numberOf((await person(own, [])).said, `${title}$`);
  expect((await person(own, [place, ...models])).code).toBe(0);
  const file = () => readFileSync(path.join(own.sandbox, 'pith.yaml'), 'utf8');
  expect(file()).not.toContain('127.0.0.1:8');
  expect((await own.command(['setup', id, '--set', 'base_url='])).text).toContain(`extensions.${id}.base_url`);

  for (const text of [block, `providers:\n  ${prefix}: { ${other} }\n`]) {
    const home = folderWith({ '.pith/config.yaml': text });
    const below = await kernelOf({ home, commands: kernelCommands, env, files: { 'pith.yaml': settings('') } });
    await expect(person(below, [place, ...models])).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(
        /^'\w+\.\w+\.base_url' cannot be taken out: ~\/\.pith\/config\.yaml:2 sets it for all your projects$/u,
      ),
      cure: 'take it out there first',
    });
    expect(readFileSync(path.join(below.sandbox, 'pith.yaml'), 'utf8')).toBe(settings(''));
  }
});

it.each([
  ['anthropic', 'ANTHROPIC_BASE_URL', 'https://gw.example', ['https://gw.example/v1', 'https://GW.example', 'https://gw.example:443/', '']],
  ['openai_compatible', 'OPENAI_BASE_URL', 'https://gw.example/v1', ['https://GW.example/v1/', 'https://gw.example:443/v1']],
])('T5 %s takes the address that the environment names, however it is written', async (id, variable, address, same) => {
  const kernel = await kernelOf({ commands: kernelCommands, env: { [variable]: address }, files: { 'pith.yaml': OLLAMA_OFF } });
  const setUp = kernel.kernel.host.providers.remote(id, SetupProvider);
  for (const each of same) await expect(setUp?.applyConfig('base_url', each), each).resolves.toBeTypeOf('object');
  for (const each of ['https://gw.example/v2', 'https://gw.example/x', 'http://gw.example/v1', 'https://gw.example:8443/v1'])
    await expect(setUp?.applyConfig('base_url', each), each).rejects.toMatchObject({ code: 'config_invalid' });
});

it.each([
  [{}, 'Anthropic'],
  [{ ANTHROPIC_BASE_URL: 'https://gw.example:8443' }, 'gw.example:8443'],
])('T5 a missing key is named by the server that wants it: %j', async (env, server) => {
  const kernel = await kernelOf({ commands: kernelCommands, env, files: { 'pith.yaml': OLLAMA_OFF } });
  const { code, text } = await kernel.command(['setup', 'anthropic', '--set', 'model=claude']);
  expect({ code, text }).toMatchObject({ code: 1, text: expect.stringContaining(`no key is set for ${server}; set ANTHROPIC_API_KEY`) });
});

it('T29 T30 keeps a typed key while its server does not answer, and says what can be typed', async () => {
  const keys: (string | undefined)[] = [];
  const url = await serverOf((request, response) => {
    keys.push(request.headers.authorization);
    if (keys.length === 2) return void request.socket.destroy();
    response.writeHead(request.headers.authorization === undefined ? 401 : 200, { 'content-type': 'application/json' });
    response.end('{"data":[{"id":"one"},{"id":"two"}]}');
  });
  const { kernel, place } = await world();
  const server = [place('Another server'), `${url}/v1`];
  const { code, asked, said } = await person(kernel, [...server, KEY, ...server, '77', 'one']);
  expect([code, keys]).toEqual([0, [undefined, `Bearer ${KEY}`, `Bearer ${KEY}`]]);
  expect(asked.filter(({ hidden }) => hidden)).toHaveLength(1);
  expect(said).toContain('. Start the server, or choose another, by its number or address:');
  expect(said).toContain("No '77' here. Type a number from 1 to 2, or a name.");
});

it.each([[['']], [['9', '']], [['Another server', 'not an address', '']], [['Another server', 'URL', '']]])(
  'U34 changes nothing where a person leaves: %j',
  async (answers) => {
    const url = await modelServer(['one']);
    const { kernel, place, settings } = await world();
    const before = settings();
    const typed = answers.map((each) => (each === 'URL' ? url : each === 'Another server' ? place(each) : each));
    expect(await person(kernel, typed)).toMatchObject({ code: 1, said: expect.stringContaining('Nothing was changed') });
    expect(settings()).toBe(before);
  },
);

it('U34 says where a server does not answer, and asks for another', async () => {
  const url = await modelServer(['one'], null);
  const { kernel, place } = await world();
  const server = place('Another server');
  const { code, said } = await person(kernel, [server, 'no address', 'http://127.0.0.1:9/v1', url, 'one']); // the corrected address where a number is asked
  expect(said).toContain("'no address' is not a URL: begin it with http:// or https://");
  expect(said).toContain('Nothing answers at 127.0.0.1:9. Start the server, or choose another, by its number or address:');
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('/one answers from now on') });
});

it('T30 says of an address that answers without a list of models to check it, and keeps the key for the corrected one', async () => {
  const url = await serverOf((request, response) => {
    const [isKnown, isThere] = [request.headers.authorization === `Bearer ${KEY}`, request.url === '/v1/models'];
    response.writeHead(isKnown ? (isThere ? 200 : 404) : 401, { 'content-type': 'application/json' });
    response.end(isKnown && isThere ? '{"data":[{"id":"one"}]}' : '{}');
  });
  const { kernel } = await world();
  const { code, asked, said } = await person(kernel, [url, KEY, `${url}/v1`, 'one']);
  expect({ code, keys: asked.filter(({ hidden }) => hidden).length }).toEqual({ code: 0, keys: 1 });
  expect(said).toContain('. Check its address, which usually ends in /v1, or choose another');
});

it('U-2 servers with a key, without one and with another key are there together, and no key or address is lost', async () => {
  const [first, open, third] = [
    await modelServer(['small']),
    await modelServer(['small', 'free'], null),
    await modelServer(['big'], 'sk-third'),
  ];
  const { home, kernel, place, settings } = await world();
  const kept = () => JSON.parse(readFileSync(path.join(home, '.pith/secrets.json'), 'utf8')) as unknown;
  const prefixOf = (url: string) => `local-${new URL(url).port}`;
  const hidden = ({ asked }: Awaited<ReturnType<typeof person>>) => asked.filter((each) => each.hidden).length;
  const other = place('Another server');
  expect(hidden(await person(kernel, [other, first, KEY, 'small']))).toBe(1);
  const before = kept();
  expect(hidden(await person(kernel, [open, 'free']))).toBe(0);
  expect(kept()).toEqual(before);
  expect(hidden(await person(kernel, [third, 'sk-third', 'big']))).toBe(1);
  expect(kept()).toMatchObject(before as object);
  for (const url of [first, open, third]) expect(settings()).toContain(`base_url: ${url}`);
  const again = await person(kernel, [`${first}/`, 'small']);
  expect([hidden(again), again.said]).toEqual([0, expect.stringContaining(`${prefixOf(first)} at ${new URL(first).host}`)]);
  const { router } = kernel.kernel;
  expect((await router.choose()).ref).toBe(`${prefixOf(first)}/small`);
  for (const [url, name] of [
    [open, 'free'],
    [third, 'big'],
  ] as const)
    expect((await router.resolve(`${prefixOf(url)}/${name}`)).ref).toBe(`${prefixOf(url)}/${name}`);
  expect((await kernel.kernel.doctor()).notes.filter(({ code }) => code === 'unknown_key')).toEqual([]);
});

it('U-2 a server of the settings that wants no key is asked for none, though one is kept for another address', async () => {
  const open = await modelServer(['free'], null);
  const kept = { OPENAI_API_KEY: { value: 'sk-of-openai', for: ['provider:openai https://api.openai.com'] } };
  const home = folderWith({ '.pith/secrets.json': JSON.stringify(kept) });
  const text = `providers:\n  ollama: { base_url: "http://127.0.0.1:9/v1" }\n  openai: { base_url: "${open}" }\n`;
  const kernel = await kernelOf({ home, commands: kernelCommands, files: { 'pith.yaml': text } });
  const { code, asked, said } = await person(kernel, [open, 'free']);
  expect({ code, hidden: asked.some(({ hidden }) => hidden) }, said).toEqual({ code: 0, hidden: false });
  expect(JSON.parse(readFileSync(path.join(home, '.pith/secrets.json'), 'utf8'))).toEqual({
    version: 1,
    OPENAI_API_KEY: [kept.OPENAI_API_KEY, { value: '', for: [`provider:openai ${new URL(open).origin}`] }],
  });
  expect((await kernel.kernel.router.resolve('default')).ref).toBe('openai/free');
  expect(kernel.kernel.host.setup.secrets().find(({ name }) => name === 'OPENAI_API_KEY')).toMatchObject({
    for: kept.OPENAI_API_KEY.for,
    none: [`provider:openai ${new URL(open).origin}`],
  });
});

it('U34 OpenAI itself is asked where it is, whatever address is in the settings', async () => {
  const elsewhere = await modelServer(['theirs'], null);
  const usual = await modelServer(['ours']);
  const kernel = await kernelOf({
    commands: kernelCommands,
    env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: usual },
    files: { 'pith.yaml': `providers:\n  ollama: { base_url: "http://127.0.0.1:9/v1" }\n  openai:\n    base_url: ${elsewhere}\n` },
  });
  await expect(
    kernel.command(['setup', 'openai_compatible', '--set', `base_url=${elsewhere}`, '--set', 'model=theirs']),
  ).rejects.toMatchObject({
    message: `OPENAI_BASE_URL is set to ${usual}, which overrides an address in the settings`,
    cure: 'unset OPENAI_BASE_URL first',
  });
  const { code } = await person(kernel, [numberOf((await person(kernel, [])).said, 'OpenAI$'), 'ours']);
  const settings = readFileSync(path.join(kernel.sandbox, 'pith.yaml'), 'utf8');
  expect({ code, hasOther: settings.includes(elsewhere) }).toEqual({ code: 0, hasOther: false });
  expect((await kernel.kernel.router.choose()).ref).toBe('openai/ours');
});

it('U34 says where the server has no such model', async () => {
  const url = await modelServer(['one', 'two'], null);
  const { kernel } = await world();
  const { code, text } = await kernel.command(['setup', 'openai_compatible', '--set', `base_url=${url}`, '--set', 'model=tow']);
  expect({ code, text }).toMatchObject({
    code: 1,
    text: expect.stringContaining("its server has no model 'tow' (did you mean 'two'?); it has one, two"),
  });
});
