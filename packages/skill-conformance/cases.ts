import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { issuesToDiagnostics, parseYaml } from '@pith/checked-yaml';
import type { z } from 'zod';
import { type Case, caseFile, defaultsFile } from './case.ts';

/** The case files, in the order of the report. */
const FILES = ['file-names', 'frontmatter', 'yaml', 'names', 'fields', 'bytes', 'links', 'sizes', 'nesting', 'hostile'];

/** All cases, in the order of the files. Rejects `cases_invalid` where a file is invalid or missing. */
export async function conformanceCases(folder = found(path.dirname(fileURLToPath(import.meta.url)))): Promise<readonly Case[]> {
  const schema = caseFile(await readYaml(path.join(folder, 'defaults.yaml'), defaultsFile));
  const files = await Promise.all(FILES.map((name) => readYaml(path.join(folder, `${name}.yaml`), schema)));
  return files.flatMap((areas) => Object.entries(areas).flatMap(([area, cases]) => cases.map((one) => ({ ...one, area }))));
}

async function readYaml<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const source = { file, code: 'cases_invalid' };
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw invalid(`the odd skills cannot be read: ${error.message}`, 'install the package again');
  });
  const { value, positions, diagnostics } = await parseYaml(text, source);
  const read = schema.safeParse(value);
  const [wrong] = [...diagnostics, ...issuesToDiagnostics(read.error?.issues ?? [], schema, { ...source, positions, value })];
  if (wrong === undefined && read.success) return read.data;
  throw invalid(`the odd skills in ${file}:${wrong?.line}: ${wrong?.message}`, wrong?.cure ?? 'correct it');
}

function invalid(message: string, cure: string): Error {
  return Object.assign(new Error(message), { code: 'cases_invalid', retryable: false, cure });
}

/** The folder of the cases: in the checkout, or the copy in a build. */
function found(below: string): string {
  const folder = path.join(below, 'packages/skill-conformance/cases');
  const above = path.dirname(below);
  return existsSync(folder) || above === below ? folder : found(above);
}
