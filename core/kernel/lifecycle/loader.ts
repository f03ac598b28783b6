import type { BroughtExtensions } from '../../contract/index.ts';
import type { Declaration } from '../discovery/declaration.ts';

export interface Bundle {
  readonly file: string;
  /** Made with Pith from the same sources: Pith's own code. */
  readonly shipped: boolean;
}

/** Makes modules of the sources of extensions, and imports them. */
export interface Loader {
  /** By source digest: what came with Pith, else what was made before, else a new one. Throws a `Problem` of phase `bundle`. */
  bundle(declaration: Declaration, entry: string): Promise<Bundle>;
  /** Whether its sources are those that Pith's own bundle was made from. */
  isShipped(declaration: Declaration): boolean;
  /** What declares it, as its code is now: known from an earlier look where nothing that it is made of has changed, else bundled. `directory` is a real path. */
  brought(extension: Parameters<BroughtExtensions['open']>[0], by: string): Promise<Declaration>;
  /** After a bundle could not be imported: the next one is rebuilt. */
  forget(bundle: Bundle): Promise<void>;
  /** Its exports. Each later generation is evaluated afresh. */
  import(file: string, generation: number): Promise<Readonly<Record<string, unknown>>>;
}
