import { messageOf, PithError, type ChannelProvider, type ExtensionContext, type Logger, type Remote } from 'pith';
import type { SavedSkill } from '../domain/index.ts';
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

/** Delivers what is due. A failed delivery is an error of the delivery, never of the run, and is tried again. */
export async function deliverDue(ports: DeliveryPorts): Promise<void> {
  for (const run of await ports.runs.deliverable()) {
    const taken = await ports.runs.takeDelivery(run, TAKEN_MS);
    if (taken === null) continue;
    try {
      const target = await ports.targetOf(run);
      if (target !== null) for (const part of partsOf(run, target, ports.summaryTarget)) await send(ports, run, part);
      await ports.runs.delivered(taken);
    } catch (error) {
      const { attempt: attempts } = taken;
      const isLast = attempts >= MOST_ATTEMPTS || (error instanceof PithError && error.code === 'channel_unknown');
      ports.logger.warn('the result of a run was not delivered', { run: run.id, reason: messageOf(error), attempts });
      await ports.runs.notDelivered(taken, messageOf(error), isLast ? null : pauseAfter(attempts));
    }
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
  const whole = { text: `${run.skill}: ${text}`, target, threadId };
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
        { ...whole, text: `${run.skill}: ${short}\nAll of it: pith runs show ${run.id}` },
      ];
    }
  }
}

async function send({ channels, events }: DeliveryPorts, run: Run, { text, target, threadId }: Part): Promise<void> {
  if (target === '') {
    // Kept on disk until somebody opens a channel.
    const notice = { v: 1, text, kind: 'run', target: null, threadId, userId: run.actsAs } as const;
    await events.publish('notify', notice, { key: `saved_skills/${run.id}` });
    return;
  }
  const kind = /^https?:\/\//.test(target) ? 'webhook' : (target.split(':', 1)[0] ?? target);
  const open = await channels();
  const channel = open.find(({ kinds }) => kinds.includes(kind));
  if (channel === undefined) {
    const known = [...new Set(open.flatMap(({ kinds }) => kinds))];
    throw new PithError('channel_unknown', `no channel here delivers to '${kind}'`, {
      cure: known.length === 0 ? 'there are none' : `channels deliver to ${known.join(', ')}`,
    });
  }
  await channel.deliver({ key: run.id, text, kind: 'run', ...(threadId === null ? {} : { threadId }) }, target);
}
