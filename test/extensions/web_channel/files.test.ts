import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { apiKernel } from '../rest_api/api-kernel.ts';

const built = (name: string): string => {
  const { build } = JSON.parse(readFileSync('dist/build.json', 'utf8')) as { readonly build: string };
  return path.join('dist', build, 'page', name);
};

it('W1 W3 W7 serves the document at each address of the page, and only the files that the build lists', async () => {
  const api = await apiKernel([], { only: ['http', 'rest_api', 'web_channel'] });
  const { text, headers } = await api.request('/chat/some-thread');
  for (const place of ['/', '/saved/skill/ann/greet', '/saved/edit/ann/greet', '/work/timeline/tasks/1'])
    expect([place, (await api.request(place)).text]).toEqual([place, text]);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toMatch(/default-src 'none'.*require-trusted-types-for 'script'/u);
  const named = [...text.matchAll(/(?:src|href)="(\/page\/[^"]+)"/gu)].map(([, file = '']) => file);
  expect(named).toHaveLength(3);
  for (const file of named)
    expect((await api.request(file)).headers).toMatchObject({ 'cache-control': expect.stringContaining('immutable') });
  for (const wrong of ['files.json', 'page.js.map', 'nothing.js', '..%2ffiles.json'])
    expect([wrong, (await api.request(`/page/${wrong}`)).status]).not.toEqual([wrong, 200]);
});

it('W7 W10 the first load is at most 60 kB of script, compressed: other views, colours of code, plots and the graph come when they are opened', () => {
  const { script } = JSON.parse(readFileSync(built('files.json'), 'utf8')) as { readonly script: string };
  // The chat is the first view.
  const [, chat = ''] = /import\("\.\/(chat-[^"]+)"\)/u.exec(readFileSync(built(script), 'utf8')) ?? [];
  const loaded = new Set([script, chat]);
  for (const name of loaded)
    for (const [, part = ''] of readFileSync(built(name), 'utf8').matchAll(/(?:from|import)\s*"\.\/([^"]+)"/gu)) loaded.add(part);
  expect(loaded.size).toBeGreaterThan(5);
  const onDemand = /^(?:bars|colours|graph-view|install|proposals|saved|skills|system|work)-/u;
  const { files } = JSON.parse(readFileSync(built('files.json'), 'utf8')) as { readonly files: readonly string[] };
  expect(files.filter((name) => onDemand.test(name))).toHaveLength(9);
  expect([...loaded].filter((name) => onDemand.test(name))).toEqual([]);
  const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(readFileSync(built(name))).length, 0);
  expect(bytes).toBeLessThanOrEqual(60_000);
});
