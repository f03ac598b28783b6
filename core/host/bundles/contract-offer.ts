import { createHash } from 'node:crypto';
import * as agent from '../../contract/agent.ts';
import * as commandLine from '../../contract/command-line.ts';
import * as errors from '../../contract/errors.ts';
import * as events from '../../contract/events.ts';
import * as keyShapes from '../../contract/key-shapes.ts';
import * as nearest from '../../contract/nearest.ts';
import * as notTextAt from '../../contract/not-text-at.ts';
import { once } from '../../contract/once.ts';
import * as protocol from '../../contract/protocol.ts';
import * as printable from '../../contract/printable.ts';
import * as runsLater from '../../contract/runs-later.ts';
import * as shippedSandbox from '../../contract/shipped-sandbox.ts';
import * as stateFiles from '../../contract/state-files.ts';
import * as tool from '../../contract/tool.ts';
import { PROTOCOLS } from '../calls/protocols.ts';
import { packageVersion } from '../package-version.ts';
import { contractNow } from './contract-now.ts';

/**
 * The host's own contract, for bundles: `light` is what loads no zod, so that a command which needs none starts without it;
 * `full` is all. One instance for everyone, whichever way the kernel itself was built.
 */
interface Contract {
  readonly light: Readonly<Record<string, unknown>>;
  full(): Promise<Readonly<Record<string, unknown>>>;
  /** All, without waiting. */
  now(): Readonly<Record<string, unknown>>;
}

/** For bundles that came with Pith: whichever copy of it loads one has offered its own contract just before. */
export const SHIPPED_KEY = 'pith.contract';
/** For bundles that this copy made. There may be more of them in a process: two versions, or the sources beside the build. */
export const contractKey = once(
  () =>
    `${SHIPPED_KEY} ${createHash('sha256')
      .update(import.meta.url)
      .digest('hex')
      .slice(0, 12)}`,
);

export const LIGHT_CONTRACT: Readonly<Record<string, unknown>> = {
  ...agent,
  ...commandLine,
  ...errors,
  ...events,
  ...keyShapes,
  ...nearest,
  ...notTextAt,
  ...protocol,
  ...printable,
  ...runsLater,
  ...shippedSandbox,
  ...stateFiles,
  ...tool,
  ...Object.fromEntries([...PROTOCOLS.values()].map((each) => [`${each.id[0]!.toUpperCase()}${each.id.slice(1)}Provider`, each])),
};

/** Part of every bundle's key: a bundle made for another contract is not used. */
export function contractVersion(): string {
  return [contractKey(), packageVersion(), ...Object.keys(LIGHT_CONTRACT).sort()].join();
}

/** Makes the contract reachable for the bundle that is loaded right after the call of what this resolves to. */
export async function offerContract({
  shipped,
  contractKey: key,
}: {
  readonly shipped: boolean;
  readonly contractKey: string;
}): Promise<() => void> {
  // Only bundles that came with Pith cannot wait for it later.
  const whole = contractNow === null && shipped ? await import('../../contract/index.ts') : null;
  const contract: Contract = {
    light: LIGHT_CONTRACT,
    full: () => import('../../contract/index.ts'),
    now: () => whole ?? contractNow?.() ?? {},
  };
  const place = globalThis as unknown as Record<symbol, Contract>;
  if (!shipped) place[Symbol.for(key)] = contract;
  return () => void (place[Symbol.for(SHIPPED_KEY)] = contract);
}
