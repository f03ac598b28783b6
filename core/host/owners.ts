import type { HostParts } from './host-parts.ts';
import { problemOf, type Problem } from './problem.ts';
import type { Owner } from './stray-errors.ts';

/** Whose code runs, for each extension and phase one; `crashed` is told of what nobody caught. */
export function createOwners(crashed: (extensionId: string, problem: Problem) => void): Pick<HostParts, 'owner' | 'loaded'> {
  const owners = new Map<string, Owner>();
  const ours = new Set<string>();
  return {
    owner(extensionId, phase) {
      const key = `${extensionId}\0${phase}`;
      const owner = owners.get(key) ?? {
        extensionId,
        get isShipped() {
          return ours.has(extensionId);
        },
        report: (code, error) => crashed(extensionId, problemOf(error, phase, code)),
      };
      owners.set(key, owner);
      return owner;
    },
    loaded: (extensionId, shipped) => void (shipped ? ours.add(extensionId) : ours.delete(extensionId)),
  };
}
