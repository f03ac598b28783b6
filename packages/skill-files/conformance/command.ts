import path from 'node:path';
import { type parseCommandInput, widthOf } from '@pith/command-line';
import type { Case } from './case.ts';
import { conformanceCases } from './cases.ts';
import { checkLoader } from './check-loader.ts';
import { type KeyMap, LISTING_FIELDS, type ListingField } from './listing.ts';
import { casesText, reportJson, reportText, scoreOf } from './report.ts';

/** Where the command speaks. */
export interface ConformanceIO {
  print(text: string): void;
  json(value: unknown): void;
  readonly wantsJson: boolean;
  readonly interactive: boolean;
  readonly columns: number;
  readonly workingDirectory: string;
}

/** What was typed cannot be done; `cure` says what can. */
export class ConformanceMisused extends Error {
  readonly code = 'usage';
  readonly cure: string;

  constructor(message: string, cure: string) {
    super(message);
    this.cure = cure;
  }
}

/** Checks a loader as it was typed. Gives the exit code: 1 where a lenient verdict was not met (`--strict`: or one of the specification). */
export async function runConformance(
  { arguments: words, options }: ReturnType<typeof parseCommandInput>,
  io: ConformanceIO,
  signal?: AbortSignal,
): Promise<number> {
  const cases = chosen([options['case'] ?? []].flat().map(String));
  if (options['cases'] === true) {
    if (io.wantsJson)
      io.json(cases.map(({ id, area, title, why, strict, lenient }) => ({ id, area, title, why, specification: strict, lenient })));
    else io.print(casesText(cases, widthOf(io)));
    return 0;
  }
  const argv = [words['command'] ?? []].flat();
  if (argv.length === 0)
    throw new ConformanceMisused('no command of a loader was given', 'write it after --, such as: -- node my-loader.mjs {dir}');
  const results = await checkLoader(
    {
      argv,
      cwd: path.resolve(io.workingDirectory, textOf(options['cwd']) ?? '.'),
      timeoutMs: above('timeout', options['timeout']) * 1000,
      jobs: above('jobs', options['jobs']),
      map: keyMap(textOf(options['map']) ?? ''),
      key: textOf(options['key']),
      cases,
    },
    signal,
  );
  if (io.wantsJson) io.json(reportJson(results));
  else io.print(reportText(results, widthOf(io)));
  const modes = options['strict'] === true ? (['lenient', 'strict'] as const) : (['lenient'] as const);
  return modes.every((mode) => scoreOf(results, mode).right === scoreOf(results, mode).checked) ? 0 : 1;
}

function chosen(names: readonly string[]): readonly Case[] {
  const cases = conformanceCases();
  const unknown = names.find((name) => !cases.some(({ id, area }) => id === name || area === name));
  if (unknown !== undefined) throw new ConformanceMisused(`no case and no area is named '${unknown}'`, '--cases prints them all');
  return names.length === 0 ? cases : cases.filter(({ id, area }) => names.includes(id) || names.includes(area));
}

function keyMap(text: string): KeyMap {
  const pairs = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.split('=').map((word) => word.trim())]));
  for (const [field = '', key = '', ...rest] of pairs) {
    if (!LISTING_FIELDS.includes(field as ListingField) || key === '' || rest.length > 0)
      throw new ConformanceMisused(
        `--map has '${[field, key, ...rest].join('=')}'`,
        `write pairs such as id=slug, of ${LISTING_FIELDS.join(', ')}`,
      );
  }
  return Object.fromEntries(pairs) as KeyMap;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function above(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw new ConformanceMisused(`--${name} is ${String(value)}`, 'write a number above 0');
}
