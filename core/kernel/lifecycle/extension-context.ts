import path from 'node:path';
import {
  type CommandContext,
  type Events,
  type ExtensionContext,
  type Logger,
  PithError,
  Places,
  type Protocol,
  type Remote,
  type Topic,
} from '../../contract/index.ts';
import { isPlainMap } from '@pith/plain-data';
import { once } from '@pith/promises';
import { type Declaration, isWithheld, shippedSandbox } from '../../declarations/index.ts';
import { Provided } from './provided.ts';
import { makeExtensionData } from '../records/extension-data.ts';
import type { Runtime, OriginalRequest, TurnOrigin } from './runtime.ts';
import { currentCorrelation, runAs, runOutside } from '../records/stray-errors.ts';
import { didYouMean } from '@pith/plain-text';
import { problemOf } from '../records/failures.ts';
import { askerOf } from '../../trust/index.ts';
import { topicOf, eventPublisher, refusedListening } from '../events/bus.ts';
import type { Scope } from './scope.ts';
import { correlationOf } from '../calls/invoke.ts';
import { type DefinedJob, pauseAgain, pauseWait, refuseOwn } from '../calls/job-calls.ts';

/** What an extension is given at construction. All that it takes through this is owned by `scope`. */
export function createExtensionContext(
  runtime: Runtime,
  { declaration, config }: { readonly declaration: Declaration; readonly config: Readonly<Record<string, unknown>> },
  scope: Scope,
  provided = new Provided(),
): ExtensionContext {
  const { id } = declaration;
  const { secrets } = runtime.rights.configOf(declaration);
  const open = once(() => runOutside(() => runtime.services.keyValue(id)));
  const database = once(() => runOutside(() => runtime.services.database(id)));
  const base = createCommandContext(runtime, declaration, config);
  const members: Omit<ExtensionContext, Exclude<keyof CommandContext, 'agents' | 'use'>> = {
    events: eventsOf(runtime, declaration, scope),
    jobs: jobsOf(runtime, declaration, provided),
    kv: keyValueOf(open),
    database: databaseOf(database),
    agents: agentsOf(runtime, declaration),
    getSecret(name, use) {
      if (secrets.includes(name)) return runtime.secrets.get(name, askerOf(declaration, runtime.loader.isShipped(declaration), name, use));
      if (isWithheld(declaration, `secret ${name}`)) return null; // as if nobody had set it
      if (runtime.loader.isShipped(declaration)) throw unnamedSecret(id, name, didYouMean(name, secrets), runtime.places);
      throw new PithError(
        'not_declared',
        `'${id}' asks for the secret '${name}', which its manifest does not declare${didYouMean(name, secrets)}`,
        {
          where: declaration.file,
          cure: `add ${name} to 'secrets' of the manifest; or a person names it in extensions.${id}.secrets`,
        },
      );
    },
    provide: (protocol, on) => provided.add({ protocol, on }, declaration),
    use: (protocol) => answeredByKernel(protocol, runtime.places) ?? runtime.others.use(declaration, protocol, scope),
    find: (protocol) => {
      if (protocol === undefined) return []; // of an optional dependency that is not there
      const answer = answeredByKernel(protocol, runtime.places);
      return answer === null ? runtime.others.find(declaration, protocol, scope) : [answer];
    },
    own: (release) => scope.own(() => runAs(runtime.owner(id, 'stop'), release)),
  };
  return Object.defineProperties(base, Object.getOwnPropertyDescriptors(members)) as ExtensionContext;
}

/** Of what ships, the manifest is nobody's to edit: a person names in the settings what else it may read. */
function unnamedSecret(id: string, name: string, hint: string, { isBare, home, sandbox }: Runtime['places']): PithError {
  const file = isBare === true && home ? '~/.pith/config.yaml' : path.join(path.basename(sandbox), 'pith.yaml');
  return new PithError('not_declared', `no settings give '${id}' the secret '${name}'${hint}`, {
    cure: `add ${name} to extensions.${id}.secrets in ${file}`,
  });
}

function eventsOf(runtime: Runtime, declaration: Declaration, scope: Scope): Events {
  const { id } = declaration;
  const handle = (given: string | Topic | undefined, listener: (payload: object) => void | Promise<void>): (() => void) => {
    if (given === undefined) return () => undefined; // of an optional dependency that is not there
    const { id: topic, durable } = topicOf(given);
    if (isWithheld(declaration, `hears ${topic}`)) return () => undefined;
    const refused = refusedListening(declaration, topic);
    if (refused) throw refused;
    const owner = runtime.owner(id, 'call');
    const failed = (error: unknown): void => void runtime.failures.record(id, problemOf(error, 'call', 'provider_failed'));
    const off = runtime.services.events.handle({ id: topic, durable }, async (payload) => {
      if (scope.closed) return;
      try {
        await runAs(owner, () => listener(payload), correlationOf([payload]));
      } catch (error) {
        failed(error);
      }
    });
    scope.own(off);
    return off;
  };
  return {
    publish: eventPublisher(runtime.services.events, runtime.secrets, declaration),
    handle: handle as Events['handle'],
  };
}

/** The store is opened by the first use, not by being handed out. */
function keyValueOf(open: () => ExtensionContext['kv']): ExtensionContext['kv'] {
  return {
    get: async (key) => open().get(key),
    set: async (key, value) => open().set(key, value),
    delete: async (key) => open().delete(key),
    keys: async (prefix) => open().keys(prefix),
  };
}

function jobsOf(runtime: Runtime, declaration: Declaration, provided: Provided): ExtensionContext['jobs'] {
  const open = once(() => runOutside(() => runtime.services.jobs(declaration)));
  return {
    define(name, handler, handling = {}) {
      if (isPlainMap(handling) && handling['lanes'] && runtime.rights.tierOf(declaration) === 'process')
        throw onlyInside('jobs.define with lanes', 'leave them out');
      provided.jobs.add({ name, handler: handler as DefinedJob['handler'], handling: handling as DefinedJob['handling'] }, declaration);
    },
    again: pauseAgain,
    wait: pauseWait,
    add: async (...given) => open().add(...given),
    statement: (...given) => open().statement(...given),
    guard: (job) => open().guard(job),
    resume: async (...given) => open().resume(...given),
    cancel: async (...given) => open().cancel(...given),
    get: async (id) => open().get(id),
    list: async (filter) => open().list(filter),
    watch: (...given) => open().watch(...given),
    async finished(id, signal) {
      refuseOwn(id);
      return open().finished(id, signal);
    },
    schedule: async (...given) => open().schedule(...given),
    pause: async (...given) => open().pause(...given),
  };
}

/** What needs the kernel's own process. */
export function onlyInside(member: string, cure: string): PithError {
  return new PithError(
    'not_supported_yet',
    `context.${member} is for extensions that run inside the kernel, and this one runs in a separate process`,
    { cure: `${cure}, or let it in by extensions.<id>.isolation: in_process in the settings` },
  );
}

function databaseOf(open: () => ExtensionContext['database']): ExtensionContext['database'] {
  return {
    get dialect() {
      return open().dialect;
    },
    all: async (...query) => open().all(...query),
    get: async (...query) => open().get(...query),
    write: async (statements) => open().write(statements),
  };
}

/** A turn that an extension starts is the kernel's work: its errors are not the extension's. Who starts it is in the request of a stranger. */
function agentsOf(runtime: Runtime, declaration: Declaration): ExtensionContext['agents'] {
  const { agents } = runtime.services;
  const { id: extensionId, manifest } = declaration;
  const origin: TurnOrigin = { extensionId, agents: manifest?.permissions.agents ?? [] }; // a manifest holds no more than a person agreed to
  return {
    list: () => runOutside(() => agents.list()),
    defaultId: () => runOutside(() => agents.defaultId()),
    find: (id) => runOutside(() => agents.find(id)),
    check: (agent) => runOutside(() => agents.check(agent)),
    run: (request, signal) => {
      const correlationId = request.correlationId ?? currentCorrelation();
      const asked: OriginalRequest = {
        ...request,
        ...(correlationId === undefined ? {} : { correlationId }),
        ...(runtime.rights.isForeign(declaration) ? { origin } : {}),
      };
      return runOutside(() => agents.run(asked, signal));
    },
  };
}

/** What a command entry is given: an extension's context without the kernel. */
export function createCommandContext(
  { places, services: { agents }, clock, logger }: Pick<Runtime, 'places' | 'services' | 'clock' | 'logger'>,
  declaration: Declaration,
  config: Readonly<Record<string, unknown>>,
): CommandContext {
  const { id, directory } = declaration;
  const folder = once(() => makeExtensionData(places.dataDirectory, id));
  const log = correlated(logger(id));
  return {
    id,
    directory,
    get dataDirectory() {
      return folder();
    },
    config,
    clock,
    logger: log,
    use: (protocol) => {
      const answered = answeredByKernel(protocol, places);
      if (answered) return answered;
      throw new PithError(
        'not_declared',
        `the commands of '${id}' ask for a provider of '${protocol.id}', but they run without the kernel`,
        {
          where: declaration.file,
          cure: "let them run with 'needs: initialized' in the manifest",
        },
      );
    },
    agents: {
      list: () => runOutside(() => agents.list()),
      find: (agentId) => runOutside(() => agents.find(agentId)),
    },
  };
}

/** A protocol that the kernel answers itself, to an extension in a process of its own as it was at its start; null: for extensions to provide. */
export function answeredByKernel<T extends object>({ id }: Protocol<T>, places: Runtime['places']): Remote<T> | null {
  if (id !== Places.id) return null;
  const { sandbox, project = null, untrustedSandbox = null, projectFiles = [], home = null, serve = null, dataDirectory: data } = places;
  const shipped = shippedSandbox();
  const folders: Places = { sandbox, project, untrustedSandbox, projectFiles, shippedSandbox: shipped, data, home, serve };
  const answer: Remote<Places> = { extensionId: 'kernel', ...folders };
  return Object.freeze(answer) as Remote<object> as Remote<T>;
}

/** Lines carry the id of the message that is served, where that is known. */
function correlated(logger: Logger): Logger {
  const line =
    (level: keyof Logger): Logger['info'] =>
    (message, fields) => {
      const correlationId = currentCorrelation();
      logger[level](message, correlationId === undefined ? fields : { correlationId, ...fields });
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
