import type { InjectionToken } from 'tsyringe';
import type { Agents, ThreadLog, ThreadStores } from '../agent/index.ts';
import type { Clock, Command, Conversations } from '../contract/index.ts';
import type { Discovery } from '../declarations/index.ts';
import type { EventServices, Jobs, Journal, StoppedExtensions } from '../durable/index.ts';
import type { Bus, Host, HostOptions, Loader, ProcessTier, Rights, Scope, Services, TierKernel, Wire } from '../kernel/index.ts';
import type { ModelRouter } from '../models/index.ts';
import type { Leases, Store } from '../store/index.ts';
import type { Findings } from './findings.ts';
import type { Kernel } from './kernel.ts';
import type { NewProblems } from './problems.ts';
import type { SandboxReading } from './sandbox-reading.ts';

/** What a kernel is opened over: given by whoever opens it. */
export const SANDBOX: InjectionToken<SandboxReading> = Symbol('sandbox');
export const DISCOVERED: InjectionToken<Discovery> = Symbol('discovered');
/** The kernel's own commands. */
export const COMMANDS: InjectionToken<() => readonly Command[]> = Symbol('commands');

/** Each part, made by its line in `parts.ts` unless another is registered over its token. */
export const CLOCK: InjectionToken<Clock> = Symbol('clock');
export const SCOPE: InjectionToken<Scope> = Symbol('scope');
export const SOURCE: InjectionToken<Pick<HostOptions, 'source' | 'configOf'>> = Symbol('source');
export const LOADER: InjectionToken<Loader> = Symbol('loader');
export const TIER_OF: InjectionToken<Rights['tierOf']> = Symbol('tier of an extension');
export const PROCESS_TIER: InjectionToken<(kernel: TierKernel) => ProcessTier> = Symbol('process tier');
export const WIRE: InjectionToken<Wire> = Symbol('wire');
export const EVENTS: InjectionToken<Bus> = Symbol('events');
export const STORE: InjectionToken<Store> = Symbol('store');
export const LEASES: InjectionToken<Leases> = Symbol('leases');
export const JOURNAL: InjectionToken<Journal> = Symbol('journal');
export const EVENT_SERVICES: InjectionToken<EventServices> = Symbol('event services');
/** What works from `start` to `stop`. */
export const WORKING: InjectionToken<Scope> = Symbol('working');
export const JOBS: InjectionToken<Jobs> = Symbol('jobs');
export const STOPPED: InjectionToken<StoppedExtensions> = Symbol('stopped extensions');
/** Where a program keeps conversations itself; null: in `STORE`. */
export const THREAD_LOG: InjectionToken<ThreadLog | null> = Symbol('log of threads');
export const THREAD_STORES: InjectionToken<ThreadStores> = Symbol('threads and approvals');
/** null: a program keeps conversations itself, and shows them. */
export const CONVERSATIONS: InjectionToken<Conversations | null> = Symbol('conversations');
export const SERVICES: InjectionToken<Services> = Symbol('services of extensions');
export const HOST: InjectionToken<Host> = Symbol('host');
export const MODEL_ROUTER: InjectionToken<ModelRouter> = Symbol('model router');
export const AGENTS: InjectionToken<Agents> = Symbol('agents');
export const FINDINGS: InjectionToken<Findings> = Symbol('findings');
export const PROBLEMS: InjectionToken<NewProblems> = Symbol('problems');
export const KERNEL: InjectionToken<Kernel> = Symbol('kernel');
