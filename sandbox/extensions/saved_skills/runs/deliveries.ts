import { ChannelProvider, codeOf, messageOf, PithError, type ExtensionContext, type Job, type Remote } from 'pith';
import type { Config } from '../config.ts';
import type { SavedSkill } from '../domain/saved-skill.ts';
import type { SkillStore } from '../store/skill-store.ts';
import type { RunStore } from './run-store.ts';
import type { OfRun, Run } from './run.ts';

type Context = Pick<ExtensionContext<Config>, 'config' | 'events' | 'find' | 'logger'>;

const SUMMARY = 280;
/** Codes of failures that another attempt would meet again. */
const FINAL: ReadonlySet<string> = new Set(['channel_unknown', 'run_damaged']);

/** Whether the output of a run goes anywhere besides to who asked for it. */
export function isDelivered({ cause, parentId }: Run, { kind, target }: SavedSkill['output_target']): boolean {
  if (parentId !== null || kind === 'webui_only') return false;
  const isAwaited = cause === 'manual' || cause === 'tool';
  return !isAwaited || target !== '' || kind === 'channel_with_summary';
}

/** A failed delivery is an error of the delivery, never of the run, and is tried again: then it rejects. */
export async function deliver(context: Context, skills: Pick<SkillStore, 'version'>, runs: RunStore, job: Job<OfRun>): Promise<void> {
  const run = await runs.delivers(job.payload.run, job);
  if (run === null) return;
  const write = (change: Parameters<RunStore['delivering']>[2]) => runs.delivering(run.id, job, change);
  try {
    if (run.isDamaged) throw new PithError('run_damaged', run.error?.message ?? 'the record of the run cannot be read');
    if (run.sealed !== null) throw new PithError('key_unavailable', run.sealed);
    const parts = await partsDue(run, skills, context.config.summary_channel_id);
    for (const [at, part] of parts.entries()) {
      if (at < run.partsDelivered) continue;
      await send(context, run, { ...part, key: at === 0 ? run.id : `${run.id}/${at}` });
      await write({ parts_delivered: at + 1 });
    }
    await write({ delivery: 'delivered', delivery_error: null });
  } catch (error) {
    const cure = error instanceof PithError ? error.cure : undefined;
    const reason = cure === undefined ? messageOf(error) : `${messageOf(error)}; ${cure}`;
    context.logger.warn('the result of a run was not delivered', { run: run.id, reason, attempts: job.attempt });
    await write({ delivery_error: reason.slice(0, 2000) });
    if (!FINAL.has(codeOf(error, ''))) throw error;
    await runs.undelivered(run.id, reason);
  }
}

/** A text and where it goes. An empty target is where the run was asked for. */
interface Part {
  readonly text: string;
  readonly target: string;
  readonly threadId: string | null;
}

/** What goes where; nothing where the version of the run is gone. */
export async function partsDue(run: Run, skills: Pick<SkillStore, 'version'>, summaryTarget: string): Promise<readonly Part[]> {
  const version = await skills.version(run.skillId, run.versionId);
  return version === null ? [] : partsOf(run, version.snapshot.output_target, summaryTarget);
}

/** By the kind of the output. `summaryTarget`: for whole results of `channel_with_summary`; empty: there is none. */
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

/** `key` is that of one message: a channel that has delivered it delivers it no second time. A notice is said again after a crash before that is written. */
async function send(context: Context, run: Run, { key, text: result, target, threadId }: Part & { readonly key: string }): Promise<void> {
  const text = `${run.skill}: ${result}`;
  if (target === '') {
    // Kept on disk until somebody opens a channel.
    const notice = { v: 1, text, kind: 'run', target: null, threadId, userId: run.actsAs } as const;
    await context.events.publish('notify', notice, { key: `saved_skills/${key}` });
    return;
  }
  const channel = channelFor(target, await channelsOf(context));
  await channel.deliver({ key, text, kind: 'run', ...(threadId === null ? {} : { threadId }) }, target);
}

/** The channels that there are, with their kinds: code of one that was not needed yet is loaded for that. One that cannot run is left out. */
export async function channelsOf(context: Pick<ExtensionContext, 'find'>): Promise<readonly Remote<ChannelProvider>[]> {
  const isKnown = ({ kinds }: Remote<ChannelProvider>): boolean => Array.isArray(kinds);
  const unknown = context.find(ChannelProvider).filter((channel) => !isKnown(channel));
  await Promise.all(unknown.map((channel) => channel.filters?.().catch(() => undefined))); // one without filters rejects, and is loaded
  return context.find(ChannelProvider).filter(isKnown);
}

/** The kind of channel that a target is for: `pager` of `pager:ada`, `webhook` of an http address. */
export function kindOf(target: string): string {
  return /^https?:\/\//i.test(target) ? 'webhook' : (target.split(':', 1)[0] ?? target);
}

/** The one of these channels that delivers to a target. Throws `channel_unknown`. */
export function channelFor(target: string, channels: readonly Remote<ChannelProvider>[]): Remote<ChannelProvider> {
  const kind = kindOf(target);
  const channel = channels.find(({ kinds }) => kinds.includes(kind));
  if (channel !== undefined) return channel;
  const known = [...new Set(channels.flatMap(({ kinds }) => kinds))];
  throw new PithError('channel_unknown', `no channel here delivers to '${kind}'`, {
    cure: known.length === 0 ? 'switch on an extension that delivers messages' : `channels deliver to ${known.join(', ')}`,
  });
}
