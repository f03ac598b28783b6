import { PithError } from '../contract/errors.ts';
import type { Command } from '../contract/protocols/command-provider.ts';
import type { Trust } from './sandbox-trust.ts';

/** Throws `restricted` for a command that writes into a sandbox, or runs code of it, that nobody has trusted. */
export function requireTrust({ path, needsTrust }: Pick<Command, 'path' | 'needsTrust'>, trust?: Pick<Trust, 'level' | 'opened'>): void {
  if (needsTrust && trust?.level === 'restricted')
    throw new PithError('restricted', `'${path}' needs a sandbox that you trust`, {
      where: trust.opened,
      cure: 'see what it brings, and trust it, with: pith trust',
    });
}
