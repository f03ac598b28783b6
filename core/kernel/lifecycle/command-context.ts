import type { CommandContext, Logger } from '../../contract/index.ts';
import { once } from '@pith/promises';
import type { Declaration } from '../discovery/declaration.ts';
import { makeExtensionData } from '../records/extension-data.ts';
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
    sandbox: places.sandbox,
    home: places.home ?? null,
    untrustedSandbox: places.untrustedSandbox ?? null,
    config,
    clock,
    logger: log,
    agents: {
      list: () => runOutside(() => agents.list()),
      find: (agentId) => runOutside(() => agents.find(agentId)),
    },
  };
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
