import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { packedPith } from './child.ts';
import { interleaved, spreadOf, timed, type Bench, type Row } from './measure.ts';
import { inFolder, put, skillText } from './places.ts';

const SKILLS = 20;

/** What a program waits for that makes a Pith of a packed install, against `node -e 0`: the model is an object in it that takes no time. */
export const embed: Bench = async ({ runs }) =>
  inFolder(async (folder) => {
    const entry = path.join(path.dirname(path.dirname(await packedPith(folder))), 'dist', 'embed.js');
    const skills = path.join(folder, 'skills');
    for (let at = 0; at < SKILLS; at++) await put(path.join(skills, `skill-${at}`, 'SKILL.md'), skillText(at));
    const program = path.join(folder, 'program.mjs');
    await put(program, PROGRAM);
    const found: Told[] = [];
    const { floor } = await interleaved(runs, {
      floor: () => timed(() => run(['-e', '0'])),
      measured: async () => {
        found.push(JSON.parse(await run([program, entry, skills])) as Told);
        return 0;
      },
    });
    const row = (figure: string, key: keyof Told, bars: Partial<Row>): Row => ({
      figure: `${figure} ÷ node -e 0`,
      unit: 'ms',
      measured: spreadOf(found.slice(1).map((told) => told[key])),
      floor,
      bounds: 'ratio',
      ...bars,
    });
    return [
      row('import pith/embed', 'import', { must: 0.9 }),
      row(`createPith → first model call, ${SKILLS} skills`, 'firstCall', { must: 6.5 }),
    ];
  });

/** In milliseconds. */
type Told = Readonly<Record<'import' | 'firstCall', number>>;

const PROGRAM = `const [entry, skills] = process.argv.slice(2);
const from = performance.now();
const { createPith } = await import(entry);
const imported = performance.now();
let called = 0;
const parts = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Done.' },
  { type: 'text-end', id: '1' },
  { type: 'finish', finishReason: { unified: 'stop' }, usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } },
];
const doStream = async ({ prompt }) => {
  called = performance.now();
  if (!JSON.stringify(prompt).includes('skill-16')) throw new Error('the skills are not in the request');
  return { stream: ReadableStream.from(parts) };
};
const pith = await createPith({ skills: [skills], model: { specificationVersion: 'v3', provider: 'own', modelId: 'm', doStream } });
await pith.run('hi').result;
await pith.close();
console.log(JSON.stringify({ import: imported - from, firstCall: called - imported }));
`;

async function run(argv: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, argv, { env: { PATH: process.env['PATH'] } })).stdout;
}
