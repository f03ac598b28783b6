import { PithError, type ModelInfo, type ModelProvider } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { librarian, LIBRARIAN } from './librarian.ts';

export default class Offline implements ModelProvider {
  async models(): Promise<readonly ModelInfo[]> {
    return [{ name: LIBRARIAN, contextWindow: null }];
  }

  getModel(name: string) {
    if (name !== LIBRARIAN) {
      throw new PithError('model_unknown', `there is no model 'offline/${name}'${didYouMean(name, [LIBRARIAN])}`, {
        cure: `use offline/${LIBRARIAN}`,
      });
    }
    return { model: librarian, contextWindow: null };
  }
}
