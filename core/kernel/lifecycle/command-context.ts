import { type CommandContext, type Logger, PithError, Places, type Protocol, type Remote } from '../../contract/index.ts';
import { once } from '@pith/promises';
import type { Declaration } from '../discovery/declaration.ts';
import { makeExtensionData } from '../records/extension-data.ts';
import { shippedSandbox } from '../records/package-version.ts';
import type { Runtime } from './runtime.ts';
import { currentCorrelation, runOutside } from '../records/stray-errors.ts';

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

/** A protocol that the kernel answers itself, by constants that hold in every process; null: it is for extensions to provide. */
export function answeredByKernel<T extends object>({ id }: Protocol<T>, places: Runtime['places']): Remote<T> | null {
  if (id !== Places.id) return null;
  const { sandbox, untrustedSandbox = null, home = null } = places;
  const answer: Remote<Places> = { extensionId: 'kernel', sandbox, untrustedSandbox, shippedSandbox: shippedSandbox(), home };
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
