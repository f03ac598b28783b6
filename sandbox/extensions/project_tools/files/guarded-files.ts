import type { TurnInfo } from 'pith';
import { FileRefused, isSecretFile, runsLaterIn } from '@pith/safe-files';

/** What a project says of its files. */
interface Guarding {
  changeGuard(names: readonly string[]): string | null;
  mayChangePith(userId: string): Promise<boolean>;
}

/** Why a file of a project decides what agents are told, which keys count or what people's tools run; null: it does not. */
export function guardOf(names: readonly string[]): string | null {
  if (names[0]?.toLowerCase() === 'sandbox') return 'is where Pith looks for the settings and extensions of a project';
  return isSecretFile(names) ? 'may contain secrets' : runsLaterIn(names);
}

/** Throws `not_allowed` where only administrators have agents change the file. */
export async function refuseGuardedChange(project: Guarding, names: readonly string[], { userId }: TurnInfo): Promise<void> {
  const why = project.changeGuard(names);
  if (why === null || (await project.mayChangePith(userId))) return;
  throw new FileRefused('not_allowed', `'${names.join('/')}' ${why}: agents change such files for administrators only`);
}

/** Throws `not_allowed` where only administrators have agents read the file. */
export async function refuseGuardedRead(
  project: Pick<Guarding, 'mayChangePith'>,
  names: readonly string[],
  { userId }: TurnInfo,
): Promise<void> {
  if (!isSecretFile(names) || (await project.mayChangePith(userId))) return;
  throw new FileRefused('not_allowed', `'${names.join('/')}' may contain secrets: agents read such files for administrators only`);
}
