import { ulid } from 'ulid';
import type { JobDeclaration, NewJob } from '../../../../core/durable/index.ts';

export function declared(name: string, changes: Partial<JobDeclaration> = {}): JobDeclaration {
  const backoff = { firstMs: 1_000, mostMs: 300_000 };
  return { name, concurrency: 16, version: 1, lanes: false, keep: true, attempts: 8, backoff, timeoutMs: null, ...changes };
}

export function newJob(name: string, changes: Partial<NewJob> = {}): NewJob {
  return {
    id: ulid(),
    name,
    version: 1,
    payload: '{}',
    at: null,
    lane: null,
    owner: null,
    priority: 0,
    unique: null,
    onOpen: 'keep',
    sequence: null,
    parent: null,
    inside: false,
    preemptible: false,
    mostAttempts: 8,
    tells: false,
    ...changes,
  };
}
