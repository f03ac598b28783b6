import { type ExtensionContext, messageOf } from 'pith';
import { difference } from '@pith/text-changes';
import { enumerated, notTextAt, printableLine } from '@pith/plain-text';
import { lintSkill, type SkillFields } from '@pith/skill-files';
import type { DraftOrigin, SkillComparison, SkillEvaluator, SkillFinding } from '../contract.ts';
import { findingsIn } from '../trust/findings-in.ts';
import { authorOf } from './draft-author.ts';
import type { DraftContent } from './draft-files.ts';

/** In characters; what is longer nobody reads, and it is not accepted. */
const MOST_SHOWN = 1_000_000;
const SHOWN_FINDINGS = 20;

interface Given {
  readonly id: string;
  readonly origin: DraftOrigin | null;
  readonly directory: string;
  readonly content: DraftContent;
  /** A file of which no tool recorded the bytes; null: there is none. */
  readonly unwritten: string | null;
  readonly nearest: readonly string[];
  /** null: it has no SKILL.md. */
  readonly fields: SkillFields | null;
  readonly evaluator: Pick<SkillEvaluator, 'compare'> | null;
  /** A skill of its id has come since. */
  readonly exists: boolean;
}

/** A draft with all that is known of it. */
export interface Looked extends Given {
  /** null: nothing scans here. */
  readonly findings: readonly SkillFinding[] | null;
  readonly advice: readonly string[];
  readonly comparison: SkillComparison | null;
  /** Why it cannot be accepted, as the end of a sentence; null: it can. */
  readonly why: string | null;
}

export async function lookAt(context: Pick<ExtensionContext, 'find' | 'clock' | 'logger'>, given: Given): Promise<Looked> {
  const { directory, content, fields, exists } = given;
  if (content.odd !== null) return { ...given, findings: null, advice: [], comparison: null, why: content.odd };
  const findings = await findingsIn(context, directory);
  const { valid, diagnostics } = await lintSkill(directory, directory);
  const comparison = await measured(context, given);
  const hidden = content.files.find(({ bytes }) => notTextAt(bytes) !== null);
  const error = diagnostics.find(({ severity }) => severity === 'error');
  const size = content.files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const why =
    (exists ? 'a skill of this id has come since' : null) ??
    (fields === null ? 'it has no SKILL.md yet' : null) ??
    (valid ? null : `its SKILL.md ${error?.message ?? 'is not valid'}`) ??
    (hidden === undefined ? null : `'${hidden.path}' is not text, so nobody could read it before agreeing`) ??
    (size > MOST_SHOWN ? `it has ${size} bytes, and a person is shown ${MOST_SHOWN} at most` : null);
  const advice = diagnostics.filter(({ severity }) => severity !== 'info').map(({ message, line }) => `SKILL.md:${line ?? 1} ${message}`);
  return { ...given, findings, advice, comparison, why };
}

/** null: nothing measures, or it has no cases. */
async function measured(
  { logger }: Pick<ExtensionContext, 'logger'>,
  { id, evaluator, directory }: Pick<Given, 'id' | 'evaluator' | 'directory'>,
): Promise<SkillComparison | null> {
  try {
    return (await evaluator?.compare({ id, before: null, after: directory })) ?? null;
  } catch (error) {
    logger.warn(`the cases of ${directory} could not be measured: ${messageOf(error)}`);
    return null;
  }
}

/** All that a person looks at before they accept a draft; what came from outside is first. */
export function textOf(looked: Looked): string {
  return [...headOf(looked), '', ...filesOf(looked)].join('\n');
}

function* headOf({ id, origin, content, unwritten, nearest, findings, advice, comparison, why }: Looked): Iterable<string> {
  const sources = origin?.sources ?? [];
  if (sources.length > 0) yield printableLine(`Its conversation had read from outside: ${enumerated(sources)}`);
  yield printableLine(`Draft of the skill '${id}': ${authorOf(origin)}`);
  if (origin?.sources === null) yield 'What its conversation read from outside is not known.';
  if (origin !== null && unwritten !== null) yield printableLine(`No tool wrote '${unwritten}' as it is: somebody else did.`);
  if (why !== null) yield printableLine(`It cannot be accepted: ${why}`);
  if (nearest.length > 0) yield printableLine(`The nearest skills: ${nearest.join(', ')}`);
  if (findings === null) yield 'Nothing scanned it, because no extension that scans skills is on.';
  for (const { severity, file, line, message } of findings?.slice(0, SHOWN_FINDINGS) ?? [])
    yield printableLine(`${severity}: ${file}:${line} ${message}`);
  if ((findings?.length ?? 0) > SHOWN_FINDINGS) yield `and ${findings!.length - SHOWN_FINDINGS} more findings`;
  for (const line of advice.slice(0, SHOWN_FINDINGS)) yield printableLine(line);
  for (const line of comparison?.lines ?? []) yield printableLine(line);
  yield content.digest;
}

/** SKILL.md first, so that nothing hides it. */
function* filesOf({ content }: Looked): Iterable<string> {
  const rank = (name: string) => (name.toLowerCase() === 'skill.md' ? 0 : 1);
  const files = [...content.files].sort((a, b) => rank(a.path) - rank(b.path));
  for (const { path, bytes, executable } of files)
    yield notTextAt(bytes) === null
      ? `${executable ? `${printableLine(path)} is executable\n` : ''}${difference(path, null, bytes.toString()).trimEnd()}`
      : `${printableLine(path)}: ${bytes.length} bytes that are not text`;
}
