import { type ExtensionContext, messageOf, z } from 'pith';
import { once, within } from '@pith/promises';
import { type SkillFinding, SkillInspector } from '../contract.ts';

/** Nobody waits longer for one scan of one skill. */
const TIMEOUT_MS = 10_000;
const MOST = 10_000;
const LATE = Symbol('late');

const findings = once(() =>
  z
    .array(
      z.object({
        severity: z.enum(['high', 'medium', 'low']),
        code: z.string(),
        file: z.string(),
        line: z.int().min(0),
        message: z.string(),
      }),
    )
    .max(MOST),
);

/** What all extensions that scan find in a skill's folder; null where none is on. One that fails, or answers nonsense, has not scanned: that is a finding, so that nobody switches a scan off by adding another. */
export async function findingsIn(
  { find, clock }: Pick<ExtensionContext, 'find' | 'clock'>,
  directory: string,
): Promise<readonly SkillFinding[] | null> {
  const inspectors = find(SkillInspector);
  if (inspectors.length === 0) return null;
  const each = await Promise.all(
    inspectors.map(async (inspector) => {
      try {
        const answer = await within(clock, TIMEOUT_MS, inspector.inspect(directory), () => LATE);
        const { data } = findings().safeParse(answer);
        return data ?? [notScanned(inspector.extensionId, answer === LATE ? 'it took too long' : 'its answer is not a list of findings')];
      } catch (error) {
        return [notScanned(inspector.extensionId, messageOf(error))];
      }
    }),
  );
  return each.flat();
}

function notScanned(extensionId: string, why: string): SkillFinding {
  return { severity: 'high', code: 'not_scanned', file: '.', line: 1, message: `was not scanned by '${extensionId}': ${why}` };
}
