import { type ExtensionContext, PithError, type ModelInfo, type ModelProvider } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { HINTS } from './answer.ts';
import { librarian, LIBRARIAN } from './librarian.ts';

/** `reader`: who can do what an answer says: a `person` at a command line, or whoever wrote the `program`. */
interface Config {
  readonly reader: string;
}

export default class Offline implements ModelProvider {
  constructor(private readonly context: Pick<ExtensionContext<Config>, 'config'>) {}

  async models(): Promise<readonly ModelInfo[]> {
    return [{ name: LIBRARIAN, contextWindow: null }];
  }

  getModel(name: string) {
    if (name !== LIBRARIAN) {
      throw new PithError('model_unknown', `there is no model 'offline/${name}'${didYouMean(name, [LIBRARIAN])}`, {
        cure: `use offline/${LIBRARIAN}`,
      });
    }
    return { model: librarian(HINTS[this.context.config.reader === 'program' ? 'program' : 'person']), contextWindow: null };
  }
}
