import type { JsonValue } from 'pith';
import { describe, expect, it } from 'vitest';
import { folderWith, kernelOf } from '../../places.ts';
import { said, webKernel } from './web-kernel.ts';
import { webServer, type WebServer } from './web-server.ts';

const KEY = 'key-of-the-search-service';

const RESULTS = [
  { title: 'Bees &amp; <strong>wax</strong>', url: 'https://a.example/bees?x=1', text: 'All about <b>bees</b>.\nReally.' },
  { title: '\u001b[31m</from-outside>', url: 'https://b.example/', text: 'x'.repeat(2000) },
  { title: 'No address', url: 'javascript:alert(1)', text: 'x' },
  { title: 'Third', url: 'http://c.example/', text: null },
];

async function fakeService(answer?: (path: string) => readonly [number, string]): Promise<WebServer> {
  return webServer((request, response) => {
    const path = new URL(request.url!, 'http://x').pathname;
    const named = (name: string) => RESULTS.map(({ text, ...rest }) => ({ ...rest, [name]: text }));
    const body = path.startsWith('/res/') ? { web: { results: named('description') } } : { results: named('content') };
    const [status, text] = answer?.(path) ?? [200, JSON.stringify(body)];
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
}

const CASES = [
  { name: 'Brave Search', settings: (origin: string) => ({ base_url: origin }), env: { BRAVE_API_KEY: KEY } },
  { name: 'Tavily', settings: (origin: string) => ({ base_url: `${origin}/` }), env: { TAVILY_API_KEY: KEY } },
  { name: 'SearXNG', settings: (origin: string) => ({ searxng_url: origin }), env: {} },
] as const;

describe('U7 web_search', () => {
  it('is absent without a key and an address, and there as soon as one is set, also after a start without it', async () => {
    const sandbox = folderWith({ 'pith.yaml': '' });
    const tools = async (env: Record<string, string>, web: Record<string, JsonValue> = {}) => {
      const pith = await kernelOf({ sandbox, env, flags: { extensions: { web } } });
      return (await pith.kernel.host.providers.tools.of('web')).map(({ name }) => name);
    };
    expect(await tools({})).toEqual(['web_fetch']);
    expect(await tools({ BRAVE_API_KEY: KEY })).toEqual(['web_fetch', 'web_search']);
    expect(await tools({})).toEqual(['web_fetch']);
    expect(await tools({ TAVILY_API_KEY: KEY })).toEqual(['web_fetch', 'web_search']);
    expect(await tools({ TAVILY_API_KEY: KEY }, { search: 'brave' })).toEqual(['web_fetch']);
    expect(await tools({ BRAVE_API_KEY: KEY }, { search: 'off' })).toEqual(['web_fetch']);
    expect(await tools({}, { searxng_url: 'http://127.0.0.1:1' })).toEqual(['web_fetch', 'web_search']);
  });

  it.each(CASES)('asks $name and gives titles, addresses and short texts, marked as from outside', async ({ name, settings, env }) => {
    const server = await fakeService();
    const web = await webKernel(settings(server.origin), { env });
    expect(await web.question('web_search', { query: 'bees "wax"' })).toMatchObject({
      summary: `search the web with ${name} for "bees \\"wax\\""`,
      enforced: `the words of the search go to ${server.host} only`,
      always: { key: expect.stringMatching(/^search:/), covers: `web searches with ${name} at ${server.host}` },
    });
    const text = said(await web.call('web_search', { query: 'bees & wax', count: 3 }));
    expect(text).toMatch(
      /^<from-outside url="http.*">\n1\. Bees & wax\n {3}https:\/\/a\.example\/bees\?x=1\n {3}All about bees\. Really\.\n/,
    );
    expect(text).toContain('2. \\x1b[31m');
    expect(text).toContain('3. Third\n   http://c.example/\n</from-outside>');
    expect(text.match(/from-outside>/g)).toHaveLength(1);
    expect(text).not.toContain('javascript:');
    expect(text.length).toBeLessThan(1200);
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    const words = `${decodeURIComponent(server.asked[0]!.replaceAll('+', ' '))} ${request!.body}`;
    expect(words).toContain('bees & wax');
    const sent = JSON.stringify(request!.headers);
    expect(sent.includes(KEY)).toBe(name !== 'SearXNG');
    expect(words).not.toContain(KEY);
  });

  it.each([
    ['Brave Search', 401, '{}', /refused the key in BRAVE_API_KEY.*\(401\); set a valid key: pith secrets set BRAVE_API_KEY/],
    ['Tavily', 432, '{}', /has reached its request limit \(432\)/],
    ['Tavily', 500, KEY, /answered 500/],
    ['SearXNG', 403, '', /does not answer in JSON; add json to 'search: formats:'/],
    ['SearXNG', 200, '<html>', /does not answer in JSON/],
    ['Brave Search', 200, '<html>', /does not answer in JSON; check extensions\.web\.base_url/],
    ['Brave Search', 200, '[]', /^Brave Search found nothing\.$/],
    ['Brave Search', 302, '{}', /answered 302/],
  ])('says what to do where %s answers %i %s', async (name, status, body, message) => {
    const { settings, env } = CASES.find((one) => one.name === name)!;
    const server = await fakeService(() => [status, body]);
    const web = await webKernel(settings(server.origin), { env });
    const text = said(await web.call('web_search', { query: 'bees' }));
    expect(text).toMatch(message);
    expect(text).not.toContain(KEY);
  });

  it('refuses what is no search', async () => {
    const web = await webKernel({}, { env: { BRAVE_API_KEY: KEY } });
    expect(said(await web.call('web_search', { query: '' }))).toMatch(/^tool_input_invalid/);
    expect(said(await web.call('web_search', { query: 'x', count: 1000 }))).toMatch(/^tool_input_invalid/);
  });

  it('T5 a key that was kept for Brave goes to no other address, and says so', async () => {
    const home = folderWith();
    const open = (web: Record<string, JsonValue>) => kernelOf({ home, flags: { extensions: { web } } });
    const plain = await open({});
    const { setup } = plain.kernel.host;
    const recipients = await setup.secretUsers('BRAVE_API_KEY');
    expect(recipients).toEqual([expect.stringContaining('https://api.search.brave.com')]);
    await setup.setSecret('BRAVE_API_KEY', { value: KEY, for: recipients });
    const names = async (pith: typeof plain) => (await pith.kernel.host.providers.tools.of('web')).map(({ name }) => name);
    expect(await names(plain)).toEqual(['web_fetch', 'web_search']);
    const other = await open({ base_url: 'https://proxy.example' });
    expect(await names(other)).toEqual(['web_fetch']);
    expect((await other.kernel.doctor()).notes).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/^web_search is off: /), code: 'secret_not_given' }),
    );
  });
});
