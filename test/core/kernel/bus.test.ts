import type { TopicMap } from 'pith';
import { describe, expect, it, vi } from 'vitest';
import { createEvents } from '../../../core/kernel/index.ts';

const payload: TopicMap['extension.stopped'] = { extensionId: 'x' };
const noJournal = (): never => {
  throw new Error('nothing durable here');
};
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('events', () => {
  it('K30 a listener that throws or rejects breaks no other', async () => {
    const events = createEvents(noJournal);
    const seen: string[] = [];
    events.handle('extension.stopped', () => {
      throw new Error('thrown');
    });
    events.handle('extension.stopped', async () => {
      throw new Error('rejected');
    });
    events.handle('extension.stopped', ({ extensionId }) => void seen.push(extensionId));
    expect(() => events.publish('extension.stopped', payload)).not.toThrow();
    expect(seen).toEqual(['x']);
    await settled();
    expect(events.failures().map(({ message }) => message)).toEqual([
      "a listener of 'extension.stopped' failed: thrown",
      "a listener of 'extension.stopped' failed: rejected",
    ]);
  });

  it('K30 a listener that waits delays neither the others nor the publisher', () => {
    const events = createEvents(noJournal);
    const seen: string[] = [];
    events.handle('extension.stopped', () => new Promise(() => undefined));
    events.handle('extension.stopped', () => void seen.push('second'));
    events.publish('extension.stopped', payload);
    events.publish('extension.stopped', payload);
    expect(seen).toEqual(['second', 'second']);
  });

  it('K30 handle returns its off, which ends that listener only', () => {
    const events = createEvents(noJournal);
    const listener = vi.fn();
    const first = events.handle('extension.stopped', listener);
    events.handle('extension.stopped', listener);
    first();
    first();
    events.publish('extension.stopped', payload);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('K30 topics are kept apart, and a listener may leave or join while an event is under way', () => {
    const events = createEvents(noJournal);
    const seen: string[] = [];
    const off = events.handle('extension.stopped', () => {
      seen.push('leaving');
      off();
      events.handle('extension.stopped', () => void seen.push('joined'));
    });
    events.handle('extension.stopped', () => void seen.push('staying'));
    events.handle('extension.reloaded', () => void seen.push('other topic'));
    events.publish('extension.stopped', payload);
    expect(seen).toEqual(['leaving', 'staying']);
    events.publish('extension.stopped', payload);
    expect(seen).toEqual(['leaving', 'staying', 'staying', 'joined']);
  });

  it('K30 nothing is heard after close', () => {
    const events = createEvents(noJournal);
    const listener = vi.fn();
    events.handle('extension.stopped', listener);
    events.close();
    events.publish('extension.stopped', payload);
    expect(listener).not.toHaveBeenCalled();
  });
});
