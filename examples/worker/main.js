// Takes jobs from its input, a line of JSON for each: { "id", "session", "text" }, or { "id", "cancel": true } for one that is not wanted
// any more. A worker thread does them, so that this one stays free; what it says is printed, a line of JSON for each piece of an answer.
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';

const worker = new Worker(new URL('worker.js', import.meta.url));
worker.on('message', (message) => console.log(JSON.stringify(message)));

const jobs = createInterface({ input: process.stdin });
jobs.on('line', (line) => {
  const job = jobIn(line);
  if (job === null) console.log(JSON.stringify({ status: 'failed', message: `not a job: ${line}` }));
  else worker.postMessage(job);
});
jobs.on('close', () => worker.postMessage('finish'));

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    worker.postMessage('stop');
    jobs.close();
  });

/** @param {string} line */
function jobIn(line) {
  try {
    const job = JSON.parse(line);
    return typeof job === 'object' ? job : null;
  } catch {
    return null;
  }
}
