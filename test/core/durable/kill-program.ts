/** Publishes without end and works on the deliveries, until it is killed. Prints `published <id>` after each commit and `handled <id>` at each delivery. */
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { openProcess } from './open-process.ts';

const [file = '', name = ''] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const handled =
  (handler: string) =>
  (_payload: unknown, { id }: { readonly id: string }) =>
    say(`handled ${handler} ${id}`);
const { journal, start } = openProcess(path.dirname(file), systemClock, { 'a/one': handled('a/one'), 'b/two': handled('b/two') });
start();

async function write(writer: number): Promise<never> {
  for (let index = 0; ; index++) {
    const taskId = `${name} ${writer} ${index}`;
    say(
      `published ${await journal.publish('task.changed', { v: 1, taskId, state: 'running', goal: '', threadId: null, note: null }, { key: `${writer}` })} ${taskId}`,
    );
  }
}
await Promise.all([0, 1, 2, 3].map(write));
