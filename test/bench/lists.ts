import http from 'node:http';
import path from 'node:path';
import type { AddressInfo } from 'node:net';
import { HttpUsers } from 'pith/http';
import { createKernel } from '../../core/compose/index.ts';
import { interleaved, timed, type Bench } from './measure.ts';
import { inFolder, put, skillSandbox } from './places.ts';

const AT_ONCE = 50;

/** What the page asks for first, where there is much: the list of conversations, and that of skills with what they are chosen by. W32 */
export const lists: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const many = quick ? 500 : 10_000;
    const sandbox = await skillSandbox(folder, many);
    await put(path.join(sandbox, 'agents/plain/manifest.yaml'), 'id: plain\nversion: 1.0.0\nagent: {}\n');
    const limits = { requests_per_user: 1e6, requests_per_address: 1e6 };
    await put(path.join(sandbox, 'pith.yaml'), JSON.stringify({ extensions: { http: limits } }));
    const model = http.createServer((_, answer) => answer.end(ANSWER)).listen(0, '127.0.0.1');
    await new Promise((resolve) => model.once('listening', resolve));
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`, PITH_MODEL: 'openai/bench' };
    const kernel = await createKernel({ accepts: true, sandbox, env, home: null, serve: { port: 0 } });
    try {
      const ready = new Promise<string>((resolve) => {
        kernel.events.handle('service.ready', ({ text }) => resolve(/:(\d+)/u.exec(text)?.[1] ?? ''));
      });
      await kernel.start();
      const token = (await kernel.host.providers.remote('http', HttpUsers)?.newToken({ userId: 'bench', role: 'admin' }))?.token ?? '';
      for (let from = 0; from < many; from += AT_ONCE)
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, many - from) }, (_, at) => conversation(kernel, `bench-${from + at}`)));
      const port = await ready;
      const list = (place: string) => () => timed(() => asked(`http://127.0.0.1:${port}${place}`, token));
      const floor = list('/api/me');
      const skills = '/api/skills?all=true&limit=50';
      const found = await interleaved(runs, {
        floor,
        threads: list('/api/threads'),
        skills: list(skills),
        chosen: list(`${skills}&text=${many - 1}`),
        counts: list('/api/all-skills/counts?all=true'),
      });
      const row = (figure: string, name: 'threads' | 'skills' | 'chosen' | 'counts') =>
        ({ figure, unit: 'ms', measured: found[name], floor: found.floor, bounds: 'figure', ...(!quick && { must: 100 }) }) as const;
      const of = many.toLocaleString('en');
      return [
        row(`list of ${of} conversations over HTTP, its first page`, 'threads'),
        row(`list of ${of} skills over HTTP, its first page`, 'skills'),
        row(`list of ${of} skills over HTTP, those with a text`, 'chosen'),
        row(`states, sources and tags of ${of} skills over HTTP`, 'counts'),
      ];
    } finally {
      await kernel.stop();
      model.close();
    }
  });

type Kernel = Awaited<ReturnType<typeof createKernel>>;

async function conversation(kernel: Kernel, threadId: string): Promise<void> {
  const request = { agent: 'plain', input: `Of ${threadId}`, threadId, channelId: 'bench', userId: 'bench' };
  for await (const event of kernel.agents.run(request))
    if (event.type === 'turn-end' && event.reason !== 'done') throw new Error(`${threadId}: ${event.reason} ${event.error?.message ?? ''}`);
}

async function asked(address: string, token: string): Promise<void> {
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${address}: ${answer.status} ${text.slice(0, 200)}`);
}

const ANSWER = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Yes.' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
