import path from 'node:path';
import { type Command, PithError } from 'pith';
import { widthOf } from '@pith/command-line';
import {
  type Case,
  casesText,
  checkLoader,
  conformanceCases,
  LISTING_FIELDS,
  type LoaderCheck,
  reportJson,
  reportText,
  runLoader,
  scoreOf,
} from '@pith/skill-conformance';

/** Commands that need neither skills nor the extension. Not in chat, since they start a program that a person names. */
export default function commands(): Command[] {
  return [
    {
      path: 'skills conformance',
      description: 'Run a program that lists skills as JSON on a table of odd skills, and report its results',
      arguments: [
        {
          name: 'command',
          description:
            'after --: what lists skills as JSON; {dir} means the folder of skills, {root} for the one above it; without either, the folder is added at the end',
          variadic: true,
        },
      ],
      options: [
        {
          name: 'map',
          type: 'string',
          description: `the keys of the fields in its list, such as id=slug,description=meta.text (${LISTING_FIELDS.join(', ')})`,
        },
        { name: 'key', type: 'string', description: 'the key of the list of skills' },
        { name: 'cwd', type: 'string', description: 'the folder in which it runs, such as {root} (default: this one)' },
        { name: 'case', type: 'string', description: 'only this case, or those of this area', multiple: true },
        { name: 'timeout', type: 'number', description: 'seconds for each case', default: 10 },
        { name: 'jobs', type: 'number', description: 'how many cases run at a time', default: 2 },
        { name: 'strict', type: 'boolean', description: 'exit with 1 where a verdict of the specification is not met, too' },
        { name: 'cases', type: 'boolean', description: 'print the cases and their verdicts, and run nothing' },
      ],
      slash: false,
      async run({ arguments: words, options }, io, signal) {
        const cases = chosen(await conformanceCases(), [options['case'] ?? []].flat().map(String));
        if (options['cases'] === true) {
          io.json(cases.map(({ id, area, what, why, expect }) => ({ id, area, title: what, why, ...expect })));
          io.print(casesText(cases, widthOf(io)));
          return 0;
        }
        const argv = [words['command'] ?? []].flat();
        if (argv.length === 0) throw misused('no command of a loader was given', 'write it after --, such as: -- node my-loader.mjs {dir}');
        const cwd = path.resolve(io.workingDirectory, textOf(options['cwd']) ?? '.');
        const timeoutMs = above('timeout', options['timeout']) * 1000;
        const run = (root: string) => runLoader({ argv, cwd, timeoutMs }, root, signal);
        const reading = { map: keyMap(textOf(options['map']) ?? ''), key: textOf(options['key']) };
        const results = await checkLoader({ cases, run, jobs: above('jobs', options['jobs']), ...reading });
        io.json(reportJson(results));
        io.print(reportText(results, widthOf(io)));
        const columns = options['strict'] === true ? (['lenient', 'specification'] as const) : (['lenient'] as const);
        return columns.every((column) => scoreOf(results, column).right === scoreOf(results, column).checked) ? 0 : 1;
      },
    },
  ];
}

function chosen(cases: readonly Case[], names: readonly string[]): readonly Case[] {
  const unknown = names.find((name) => !cases.some(({ id, area }) => id === name || area === name));
  if (unknown !== undefined) throw misused(`there is no case or area named '${unknown}'`, '--cases prints them all');
  return names.length === 0 ? cases : cases.filter(({ id, area }) => names.includes(id) || names.includes(area));
}

function keyMap(text: string): LoaderCheck['map'] {
  const pairs = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.split('=').map((word) => word.trim())]));
  for (const [field = '', key = '', ...rest] of pairs) {
    if (LISTING_FIELDS.some((known) => known === field) && key !== '' && rest.length === 0) continue;
    throw misused(
      `wrong use of --map: '${[field, key, ...rest].join('=')}' does not name a field of a skill`,
      `write pairs such as id=slug; fields: ${LISTING_FIELDS.join(', ')}`,
    );
  }
  return Object.fromEntries(pairs) as LoaderCheck['map'];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function above(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw misused(`wrong use of --${name}: ${String(value)} is not above 0`, 'write a number above 0');
}

function misused(message: string, cure: string): PithError {
  return new PithError('usage', message, { cure });
}
