import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { AsyncLocalStorage } from 'node:async_hooks';
import type * as OpenTelemetry from '@opentelemetry/api';
import { endpointOf, isCollected } from '@pith/genai-spans';
import { systemClock, within } from '@pith/promises';
import { type Diagnostic, messageOf } from '../contract/index.ts';
import { packageRoot } from '../declarations/index.ts';
import type { Trust } from '../trust/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a person adds to export spans. It brings the SDK that it was made for. */
const EXPORTER = '@opentelemetry/exporter-trace-otlp-http';
/** A collector that does not answer delays the end of the process by no more. */
const FLUSH_MS = 2000;

/** What is used of the packages, which are not there when Pith is built. */
interface ExporterModule {
  readonly OTLPTraceExporter: new () => object;
}

interface SdkModule {
  readonly BatchSpanProcessor: new (options: { readonly exporter: object }) => object;
  readonly TracerProvider: new (options: { readonly resource: Resource; readonly spanProcessors: readonly object[] }) => Provider;
}

type Provider = OpenTelemetry.TracerProvider & { shutdown(): Promise<void> };

interface Resource {
  merge(other: Resource): Resource;
}

interface ResourcesModule {
  readonly envDetector: object;
  defaultResource(): Resource;
  detectResources(options: { readonly detectors: readonly object[] }): Resource;
  resourceFromAttributes(attributes: Readonly<Record<string, string>>): Resource;
}

export interface Exporting {
  /** Sends what is left. Never rejects. */
  end(): Promise<void>;
}

/** Registers a tracer provider that sends spans to the endpoint of the environment; null where there is none, or no package for it. Never throws. */
export function exportSpans(env: Environment, trust: Pick<Trust, 'project'>): Exporting | null {
  if (endpointOf(env) === null || isCollected()) return null;
  const { provider } = findExporter(foldersOf(trust));
  return provider === null ? null : register(provider);
}

function register(provider: Provider): Exporting {
  const { context, ROOT_CONTEXT, trace } = requireIn(packageRoot())('@opentelemetry/api') as typeof OpenTelemetry; // which the spans come from
  context.setGlobalContextManager(contextManager(ROOT_CONTEXT));
  trace.setGlobalTracerProvider(provider);
  return {
    async end() {
      trace.disable();
      context.disable();
      await within(systemClock, FLUSH_MS, provider.shutdown(), () => undefined).catch(() => undefined); // a collector that refuses spans fails no command
    },
  };
}

/** What was found of the exporter: what sends spans, else why each that is installed does not. */
interface FoundExporter {
  readonly provider: Provider | null;
  readonly problems: readonly string[];
}

/** What is wrong where spans are wanted and cannot be sent. */
export function exportFindings(env: Environment, folders: readonly string[], node: string = process.versions.node): readonly Diagnostic[] {
  const endpoint = endpointOf(env);
  if (endpoint === null) return [];
  const { provider, problems } = findExporter(folders);
  if (provider !== null) return [];
  const why = problems.length === 0 ? `the package ${EXPORTER} is not installed` : problems.join('; ');
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const version = major > 22 || (major === 22 && minor >= 15) ? '0.301.0' : '0.223.1'; // from 0.300 on it needs Node 22.15
  const message = `no spans are sent to ${endpoint}: ${why}`;
  return [{ severity: 'warning', code: 'exporter_missing', message, cure: `npm install ${EXPORTER}@${version}` }];
}

/** Where the exporter is looked for: in the project where it is trusted, then beside Pith. */
export function foldersOf({ project }: Pick<Trust, 'project'>): readonly string[] {
  return [...(project === null ? [] : [project]), packageRoot()];
}

function findExporter(folders: readonly string[]): FoundExporter {
  const problems = new Set<string>();
  for (const folder of folders) {
    try {
      return { provider: loadProvider(requireIn(folder)), problems: [] };
    } catch (error) {
      const installed = installedIn(folder);
      const [why] = messageOf(error).split('\n');
      if (installed !== null) problems.add(`${EXPORTER} ${installed} cannot be loaded: ${why}`);
    }
  }
  return { provider: null, problems: [...problems] };
}

function loadProvider(require: NodeJS.Require): Provider {
  const { OTLPTraceExporter } = require(EXPORTER) as ExporterModule;
  const beside = createRequire(require.resolve(EXPORTER));
  const sdk = beside.resolve('@opentelemetry/sdk-trace');
  const { BatchSpanProcessor, TracerProvider } = beside(sdk) as SdkModule;
  const { detectResources, defaultResource, envDetector, resourceFromAttributes } = createRequire(sdk)(
    '@opentelemetry/resources',
  ) as ResourcesModule;
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'pith' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
}

/** The version of the exporter that is found from the folder, and where; null: there is none. */
function installedIn(folder: string): string | null {
  const places = requireIn(folder).resolve.paths(EXPORTER) ?? [];
  const found = places.map((place) => path.join(place, EXPORTER)).find((place) => existsSync(place));
  return found === undefined ? null : `${versionIn(found)} in ${found}`;
}

function versionIn(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { readonly version?: unknown };
    return typeof version === 'string' && /^\d[\w.+-]{0,40}$/u.test(version) ? version : 'without a version';
  } catch {
    return 'without a version'; // its package.json is damaged or missing
  }
}

function requireIn(folder: string): NodeJS.Require {
  return createRequire(path.join(folder, 'package.json'));
}

/** Keeps the current span over waiting. */
function contextManager(root: OpenTelemetry.Context): OpenTelemetry.ContextManager {
  const active = new AsyncLocalStorage<OpenTelemetry.Context>();
  const manager: OpenTelemetry.ContextManager = {
    active: () => active.getStore() ?? root,
    with: (value, run, self, ...values) => active.run(value, () => run.call(self as ThisParameterType<typeof run>, ...values)),
    bind: (value, target) => {
      if (typeof target !== 'function') return target;
      return ((...values: unknown[]) => active.run(value, () => (target as (...all: unknown[]) => unknown)(...values))) as typeof target;
    },
    enable: () => manager,
    disable() {
      active.disable();
      return manager;
    },
  };
  return manager;
}
