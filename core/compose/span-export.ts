import { createRequire } from 'node:module';
import path from 'node:path';
import { AsyncLocalStorage } from 'node:async_hooks';
import type * as OpenTelemetry from '@opentelemetry/api';
import { endpointOf, isCollected } from '@pith/genai-spans';
import { systemClock, within } from '@pith/promises';
import type { Diagnostic } from '../contract/index.ts';
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
  readonly TracerProvider: new (options: {
    readonly resource: Resource;
    readonly spanProcessors: readonly object[];
  }) => OpenTelemetry.TracerProvider & { shutdown(): Promise<void> };
}

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

/** Registers a tracer provider that sends spans to the endpoint of the environment; null where there is none, or no package for it. */
export function exportSpans(env: Environment, trust: Pick<Trust, 'project'>): Exporting | null {
  if (endpointOf(env) === null || isCollected()) return null;
  const require = requireOf(trust);
  return require === null ? null : register(require);
}

function register(require: NodeJS.Require): Exporting {
  const { OTLPTraceExporter } = require(EXPORTER) as ExporterModule;
  const beside = createRequire(require.resolve(EXPORTER));
  const sdk = beside.resolve('@opentelemetry/sdk-trace');
  const { BatchSpanProcessor, TracerProvider } = beside(sdk) as SdkModule;
  const { detectResources, defaultResource, envDetector, resourceFromAttributes } = createRequire(sdk)(
    '@opentelemetry/resources',
  ) as ResourcesModule;
  const { context, ROOT_CONTEXT, trace } = beside('@opentelemetry/api') as typeof OpenTelemetry;
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'pith' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
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

/** What is wrong where spans are wanted and cannot be sent. `require`: as `requireOf` gives it. */
export function exportFindings(
  env: Environment,
  require: NodeJS.Require | null,
  node: string = process.versions.node,
): readonly Diagnostic[] {
  const endpoint = endpointOf(env);
  if (endpoint === null || require !== null) return [];
  const message = `no spans are sent to ${endpoint}: the package ${EXPORTER} is not installed`;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const version = major > 22 || (major === 22 && minor >= 15) ? '0.301.0' : '0.223.1'; // from 0.300 on it needs Node 22.15
  return [{ severity: 'warning', code: 'exporter_missing', message, cure: `npm install ${EXPORTER}@${version}` }];
}

/** From where the exporter can be loaded: the project where it is trusted, else Pith; null: from nowhere. */
export function requireOf({ project }: Pick<Trust, 'project'>): NodeJS.Require | null {
  for (const folder of [...(project === null ? [] : [project]), packageRoot()]) {
    const require = createRequire(path.join(folder, 'package.json'));
    try {
      createRequire(require.resolve(EXPORTER)).resolve('@opentelemetry/sdk-trace');
      return require;
    } catch {
      continue; // it is not installed there, or is one that brings another SDK
    }
  }
  return null;
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
