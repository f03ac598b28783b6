import { monitorEventLoopDelay } from 'node:perf_hooks';
import { HttpUsers } from 'pith/http';
import { createKernel } from '../../core/compose/index.ts';
import { liveBytes } from './measure.ts';

/** A kernel in a process of its own that serves the sandbox of its first argument. Each line on stdin asks for its figures since the one before. */
const [sandbox = '', address = ''] = process.argv.slice(2);
const env = { OPENAI_BASE_URL: address, PITH_MODEL: 'openai/bench' };
const kernel = await createKernel({ accepts: true, sandbox, env, home: null, serve: { port: 0 } });
const port = new Promise<string>((resolve) => {
  kernel.events.handle('service.ready', ({ text }) => resolve(/:(\d+)/u.exec(text)?.[1] ?? ''));
});
await kernel.start();
const users = kernel.host.providers.remote('http', HttpUsers);
const token = (await users?.newToken({ userId: 'bench' }))?.token;
const delay = monitorEventLoopDelay({ resolution: 1 });
process.stdout.write(`${JSON.stringify({ port: await port, token })}\n`);
process.stdin.on('data', () => {
  const p99 = delay.percentile(99) / 1e6;
  liveBytes(); // collects
  process.stdout.write(`${JSON.stringify({ rss: process.memoryUsage.rss(), p99 })}\n`);
  delay.reset();
  delay.enable();
});
