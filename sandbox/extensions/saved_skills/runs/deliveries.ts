import { messageOf, PithError, type ChannelProvider, type ExtensionContext, type Logger, type Remote } from 'pith';
import type { SavedSkill } from '../domain/index.ts';
import { channelFor } from './channels.ts';
import type { RunStore } from './run-store.ts';
import type { Run } from './run.ts';

export interface DeliveryPorts {
  readonly runs: RunStore;
  readonly logger: Pick<Logger, 'warn'>;
  readonly channels: () => Promise<readonly Remote<ChannelProvider>[]>;
  readonly events: Pick<ExtensionContext['events'], 'publish'>;
  /** The target for whole results of `channel_with_summary`; empty: there is none. */
  readonly summaryTarget: string;
  /** What a run's version says of its output; null: it is gone. */
  readonly targetOf: (run: Run) => Promise<SavedSkill['output_target'] | null>;
}

/** How long a delivery may take before another process tries it. */
const TAKEN_MS = 60_000;
const MOST_ATTEMPTS = 8;
const SUMMARY = 280;

/** Milliseconds before the next attempt: 5 s, 20 s, 80 s, … at most 6 h. */
function pauseAfter(attempts: number): number {
  return Math.min(6 * 3_600_000, 5_000 * 4 ** (attempts - 1));
}

/** Whether the output of a run goes anywhere besides to who asked for it. */
export function isDelivered({ cause, parentId }: Run, { kind, target }: SavedSkill['output_target']): boolean {
  if (parentId !== null || kind === 'webui_only') return false;
  const isAwaited = cause === 'manual' || cause === 'tool';
  return !isAwaited || target !== '' || kind === 'channel_with_summary';
}

/** Delivers what is due, side by side: a target that takes its time keeps no other waiting. */
export async function deliverDue(ports: DeliveryPorts): Promise<void> {
  await Promise.all((await ports.runs.deliverable()).map((run) => deliver(ports, run)));
}

/** A failed delivery is an error of the delivery, never of the run, and is tried again. */
async function deliver(ports: DeliveryPorts, run: Run): Promise<void> {
  const { runs, logger, targetOf, summaryTarget } = ports;
  const taken = await runs.takeDelivery(run, TAKEN_MS);
  if (taken === null) return;
  try {
    const target = await targetOf(run);
    if (target !== null) for (const part of partsOf(run, target, summaryTarget)) await send(ports, run, part);
    await runs.delivered(taken);
  } catch (error) {
    const { attempt: attempts } = taken;
    const isLast = attempts >= MOST_ATTEMPTS || (error instanceof PithError && error.code === 'channel_unknown');
    const cure = error instanceof PithError ? error.cure : undefined;
    const reason = cure === undefined ? messageOf(error) : `${messageOf(error)}; ${cure}`;
    logger.warn('the result of a run was not delivered', { run: run.id, reason, attempts });
    await runs.notDelivered(taken, reason, isLast ? null : pauseAfter(attempts));
  }
}

/** A text and where it goes. An empty target is where the run was asked for. */
interface Part {
  readonly text: string;
  readonly target: string;
  readonly threadId: string | null;
}

/** What goes where, by the kind of the output. */
export function partsOf(run: Run, { kind, target }: SavedSkill['output_target'], summaryTarget: string): readonly Part[] {
  const { threadId } = run.origin;
  const text = run.output ?? '';
  const whole = { text, target, threadId };
  switch (kind) {
    case 'webui_only':
      return [];
    case 'channel':
    case 'dm':
      return [whole];
    case 'thread':
      return threadId === null ? [whole] : [{ ...whole, target: '' }];
    case 'channel_with_summary': {
      const elsewhere = summaryTarget === target ? '' : summaryTarget;
      if (elsewhere === '') return [whole];
      const short = text.length > SUMMARY ? `${text.slice(0, SUMMARY).trimEnd()}…` : text;
      return [
        { ...whole, target: elsewhere, threadId: null },
        { ...whole, text: `${short}\nAll of it: pith runs show ${run.id}` },
      ];
    }
  }
}

async function send({ channels, events }: DeliveryPorts, run: Run, { text: result, target, threadId }: Part): Promise<void> {
  const text = `${run.skill}: ${result}`;
  if (target === '') {
    // Kept on disk until somebody opens a channel.
    const notice = { v: 1, text, kind: 'run', target: null, threadId, userId: run.actsAs } as const;
    await events.publish('notify', notice, { key: `saved_skills/${run.id}` });
    return;
  }
  const channel = channelFor(target, await channels());
  await channel.deliver({ key: run.id, text, kind: 'run', ...(threadId === null ? {} : { threadId }) }, target);
}
